import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { widthOf } from '@rackless/daemon/text/plain-text.js';
import type { HostFinding, DoctorReport } from './examine.js';
import { renderDoctorReport } from './render.js';

const pool: HostFinding = {
  severity: 'problem',
  host: 'lab-1',
  subject: 'pool',
  message: 'libvirt has no storage pool images, so inserts of images and new volumes fail.',
  fix:
    'virsh --connect qemu:///system pool-define-as images dir --target /var/lib/libvirt/images/images && ' +
    'virsh --connect qemu:///system pool-start images',
};
const clock: HostFinding = { severity: 'note', host: null, subject: 'clock', message: 'It is unknown.', fix: null };

const host = (name: string) => ({ name, uri: `qemu+ssh://${name}/system`, libvirt: '9.0.0', qemu: '7.2.9' });
const report = (findings: readonly HostFinding[], hosts = [host('lab-1')]): DoctorReport => ({
  findings,
  hosts,
  cloud: null,
});

const plain = { columns: 80, isColored: false };

describe('a report', () => {
  it('fits 80 columns, with long commands on several lines', () => {
    expect(renderDoctorReport(report([pool, clock]), plain)).toBe(`SEVERITY  SUBJECT  FINDING
problem   pool     libvirt has no storage pool images, so inserts of images and
                   new volumes fail.
                   $ virsh --connect qemu:///system pool-define-as images \\
                       dir --target /var/lib/libvirt/images/images &&
                     virsh --connect qemu:///system pool-start images
note      clock    It is unknown.

1 problem, 0 warnings, 1 note.
Examined the host lab-1: libvirt 9.0.0, QEMU 7.2.9.
`);
  });

  it('contains the names of the hosts if there are several, and uses a wide terminal up to 120 columns', () => {
    const wide = renderDoctorReport(report([pool, clock], [host('lab-1'), host('lab-2')]), { ...plain, columns: 200 });
    expect(wide).toBe(`SEVERITY  HOST   SUBJECT  FINDING
problem   lab-1  pool     libvirt has no storage pool images, so inserts of images and new volumes fail.
                          $ virsh --connect qemu:///system pool-define-as images dir --target \\
                              /var/lib/libvirt/images/images &&
                            virsh --connect qemu:///system pool-start images
note      -      clock    It is unknown.

1 problem, 0 warnings, 1 note.
Examined the host lab-1: libvirt 9.0.0, QEMU 7.2.9.
Examined the host lab-2: libvirt 9.0.0, QEMU 7.2.9.
`);
  });

  it('has no table without findings', () => {
    expect(renderDoctorReport({ ...report([], []), cloud: 'lab' }, plain)).toBe(
      '0 problems, 0 warnings, 0 notes.\nExamined the cloud lab.\n',
    );
  });

  it('colors only the severity', () => {
    const lines = renderDoctorReport(report([pool]), { ...plain, isColored: true }).split('\n');
    expect(lines[1]).toBe(
      '\u001b[31mproblem\u001b[39m   pool     libvirt has no storage pool images, so inserts of images and',
    );
    expect(lines.slice(2).join()).not.toContain('\u001b');
  });

  it('escapes control characters of hosts', () => {
    const message = 'ssh ended: \u001b]52;c;x\u0007.';
    expect(renderDoctorReport(report([{ ...clock, message }]), plain)).toContain('ssh ended: \\x1b]52;c;x\\x07.');
  });

  it.each([30, 40, 60, 80, 120])('has commands at %i columns that a shell reads as one command', (columns) => {
    const fix = `printf '%s|' 'two  words' "a b" /a/long/path/with/many/parts plain && printf it\\'s`;
    const lines = renderDoctorReport(report([{ ...pool, fix }]), { ...plain, columns }).split('\n');
    const start = lines.findIndex((line) => line.trimStart().startsWith('$ '));
    const command = lines.slice(start, lines.indexOf('')).join('\n').replace('$ ', '');
    expect(execFileSync('sh', ['-c', command], { encoding: 'utf8' })).toBe(
      "two  words|a b|/a/long/path/with/many/parts|plain|it's",
    );
    if (columns >= 60) expect(Math.max(...lines.map(widthOf))).toBeLessThanOrEqual(columns);
  });
});
