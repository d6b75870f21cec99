import { describe, expect, it } from '@jest/globals';
import type { HostSnapshot } from '../drivers/hosts-control.js';
import type { SystemSnapshot } from '../drivers/snapshot/system-snapshot.js';
import { emptyDrive, sampleMachines } from '../drivers/fake/sample-machines.js';
import { renderMachines, renderUnavailable } from './machines.js';

const [sample] = sampleMachines();
if (sample === undefined) throw new Error('the fake driver has no machine');
const render = (...systems: readonly SystemSnapshot[]) => renderWithHosts([], systems);
const renderWithHosts = (hosts: readonly HostSnapshot[], systems: readonly SystemSnapshot[] = []) =>
  renderMachines({
    hypervisor: 'fake',
    version: '1.2.3',
    machines: systems.map((system) => ({ uuid: system.uuid, name: system.name, system })),
    hosts,
  });
/** Returns the visible texts of the first row of a table. */
const cells = (page: string, table = 1) => {
  const body = page.split('<tbody>')[table] ?? '';
  const [row = ''] = body.split('</tr>');
  return [...row.matchAll(/<t[dh][^>]*>([^]*?)<\/t[dh]>/g)].map(([, cell = '']) =>
    cell
      .replace(/<[^>]+>/g, ' ')
      .replace(/\s+/g, ' ')
      .trim(),
  );
};

describe('renderMachines', () => {
  it('shows power, memory, processors, boot and media in words', () => {
    const system: SystemSnapshot = {
      ...sample,
      uuid: '00000000-0000-0000-0000-000000000001',
      name: 'web <1>',
      state: 'running',
      memoryKiB: 1_572_864,
      processors: { ...sample.processors, count: 3 },
      boot: { ...sample.boot, enabled: 'once', target: 'cdrom', firmware: 'efi' },
      media: [{ ...emptyDrive('cdrom'), inserted: true, image: 'http://x/a.iso', imageName: 'a&b.iso', viaUri: true }],
    };
    expect(cells(render(system))).toEqual([
      'web &lt;1&gt; 00000000-0000-0000-0000-000000000001',
      'On',
      '1.5 GiB',
      '3',
      'CD, once UEFI',
      'a&amp;b.iso',
      'System Manager',
    ]);
  });

  it.each([
    [{ state: 'shutoff' as const, memoryKiB: 524_288 }, ['Off', '512 MiB']],
    [{ state: 'paused' as const, memoryKiB: 4_194_304 }, ['paused', '4 GiB']],
  ])('shows %j as %j', (changed, shown) => {
    expect(cells(render({ ...sample, ...changed })).slice(1, 3)).toEqual(shown);
  });

  it('shows the usual order without an override of the boot, and "empty" without media', () => {
    const boot = { ...sample.boot, enabled: 'disabled' as const, firmware: 'bios' as const };
    expect(cells(render({ ...sample, boot, media: [] })).slice(4, 6)).toEqual(['usual order BIOS', 'empty']);
  });

  it('shows no firmware if it is unknown', () => {
    const boot = { ...sample.boot, enabled: 'disabled' as const, firmware: null };
    expect(cells(render({ ...sample, boot }))[4]).toBe('usual order');
  });

  it('explains an empty list, and names the settings that can exclude machines', () => {
    const text = render()
      .replaceAll(/<[^>]+>|\s+/g, ' ')
      .replaceAll(/ +/g, ' ');
    expect(text).toContain('This service has no machines. After you create a machine on a host or in the cloud');
    expect(text).toContain('EMULATOR_ALLOWED_INSTANCES or EMULATOR_OS_FILTER may exclude it');
  });
});

describe('the hosts', () => {
  const since = new Date('2026-01-02T03:04:05.678Z');
  const host: HostSnapshot = {
    name: 'rack-1',
    uri: 'qemu+ssh://rack-1/system',
    reachable: true,
    reason: null,
    since,
    facts: {
      hypervisor: { name: 'QEMU', version: '7.2.22' },
      libvirtVersion: '9.0.0',
      architecture: 'x86_64',
      processors: { sockets: 1, cores: 4, threads: 8 },
      memoryBytes: 16 * 1024 ** 3,
      freeMemoryBytes: 4 * 1024 ** 3,
      cpuTime: { busySeconds: 5, idleSeconds: 15 },
      cpuLoad: 0.254,
      machines: { total: 3, running: 2 },
    },
  };

  it('show health, load, capacity and versions', () => {
    expect(cells(renderWithHosts([host]))).toEqual([
      'rack-1 qemu+ssh://rack-1/system',
      'answers',
      '2 of 3',
      '25 % 8 CPUs',
      '12 GiB of 16 GiB',
      'QEMU 7.2.22 libvirt 9.0.0',
      'Chassis',
    ]);
  });

  it('show since when a host does not answer, and why', () => {
    const lost = { ...host, reachable: false, reason: 'connection <refused>' };
    expect(cells(renderWithHosts([lost]))).toEqual([
      'rack-1 qemu+ssh://rack-1/system',
      'does not answer since 2026-01-02T03:04:05Z: connection &lt;refused&gt;',
      'Chassis',
    ]);
  });

  it('appear in the rows of their machines if there are several', () => {
    const machine = { ...sample, host: 'rack-2' };
    expect(cells(renderWithHosts([host], [machine]), 2)).toHaveLength(7);
    expect(cells(renderWithHosts([host, { ...host, name: 'rack-2' }], [machine]), 2)[1]).toBe('rack-2');
  });
});

describe('renderUnavailable', () => {
  it('shows the host and the reason', () => {
    const page = renderUnavailable({ hypervisor: 'libvirt qemu:///system', reason: 'connection <refused>' });
    expect(page).toContain('<code>libvirt qemu:///system</code> does not answer');
    expect(page).toContain('connection &lt;refused&gt;');
  });
});
