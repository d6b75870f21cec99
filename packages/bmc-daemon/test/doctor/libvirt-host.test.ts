/**
 * Examines a real libvirtd in good and in bad states, and runs the commands that the doctor
 * recommends.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLibvirtd, type PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { findingsAbout, applyFix, doctor, type ReportedFinding } from './doctor.js';

/** The account nobody, which may not use libvirt. */
const NOBODY = 65_534;

let libvirtd: PrivateLibvirtd;
beforeAll(async () => {
  libvirtd = await startLibvirtd({ driver: 'qemu' });
});
afterAll(() => libvirtd.stop());

const virsh = (...words: readonly string[]): string =>
  execFileSync('virsh', ['--connect', libvirtd.uri, ...words], { encoding: 'utf8' });

/** Returns the beginning of a command line that runs a command with the folders that libvirtd sees. */
const inLibvirtdMounts = (): readonly string[] => ['nsenter', '--mount', '--target', String(libvirtd.pid)];

const examinePool = (pool: string | null, through: readonly string[] = []) =>
  doctor(['--libvirt-uri', libvirtd.uri], { through, env: pool === null ? {} : { EMULATOR_STORAGE_POOL: pool } });

/** Defines a pool in a folder, and starts it now and with libvirt. */
function definePool(name: string, folder = `/var/lib/libvirt/images/${name}`): void {
  virsh('pool-define-as', name, 'dir', '--target', folder);
  virsh('pool-build', name);
  virsh('pool-start', name);
  virsh('pool-autostart', name);
}

const onlyFinding = (findings: readonly ReportedFinding[]): ReportedFinding => {
  const [finding] = findings;
  if (finding === undefined || findings.length > 1) throw new Error(`not one finding: ${JSON.stringify(findings)}`);
  return finding;
};

describe('a libvirt host without problems', () => {
  it('is listed with its versions, and is not changed', async () => {
    definePool('good');
    const state = (): string =>
      [virsh('pool-list', '--all'), virsh('pool-info', 'good'), virsh('vol-list', 'good')].join();
    const before = state();
    const report = await examinePool('good', inLibvirtdMounts());
    expect(findingsAbout(report, 'socket', 'pool', 'libvirt', 'firmware', 'version')).toEqual([]);
    const { version = '', qemu = '' } =
      /Using library: libvirt (?<version>\S+)[^]*Running hypervisor: QEMU (?<qemu>\S+)/.exec(virsh('version'))
        ?.groups ?? {};
    expect(report.hosts).toEqual([{ name: 'localhost', uri: libvirtd.uri, libvirt: version, qemu }]);
    expect(state()).toBe(before);
  });

  it('needs no pool if no setting names one, because the daemon creates its own', async () => {
    expect(findingsAbout(await examinePool(null), 'pool')).toEqual([]);
    expect(virsh('pool-list', '--all')).not.toContain('rackless-images');
  });
});

describe('the storage pool', () => {
  it('is a problem if it does not exist, and the suggested command creates it', async () => {
    const report = await examinePool('absent');
    expect(report.code).toBe(1);
    const finding = onlyFinding(findingsAbout(report, 'pool'));
    expect(finding).toMatchObject({
      severity: 'problem',
      host: 'localhost',
      message:
        'The storage pool absent of EMULATOR_STORAGE_POOL does not exist, so inserts of images and new volumes fail.',
    });
    applyFix(finding);
    expect(findingsAbout(await examinePool('absent', inLibvirtdMounts()), 'pool')).toEqual([]);
  });

  it('is a warning if it is inactive, and the suggested command starts it', async () => {
    definePool('idle');
    virsh('pool-destroy', 'idle');
    const finding = onlyFinding(findingsAbout(await examinePool('idle', inLibvirtdMounts()), 'pool'));
    expect(finding).toMatchObject({
      severity: 'warning',
      message: 'The storage pool idle is inactive, so machines with a disk of the pool cannot start.',
    });
    applyFix(finding);
    expect(findingsAbout(await examinePool('idle', inLibvirtdMounts()), 'pool')).toEqual([]);
  });

  it('is a problem if its folder is missing, and the suggested command creates the folder', async () => {
    definePool('hollow');
    virsh('pool-destroy', 'hollow');
    execFileSync('rmdir', [path.join(libvirtd.dir, 'lib/images/hollow')]);
    const finding = onlyFinding(findingsAbout(await examinePool('hollow', inLibvirtdMounts()), 'pool'));
    expect(finding.message).toBe(
      'The storage pool hollow cannot start, because the folder /var/lib/libvirt/images/hollow is missing, ' +
        'so inserts of images and new volumes fail.',
    );
    applyFix(finding);
    expect(findingsAbout(await examinePool('hollow', inLibvirtdMounts()), 'pool')).toEqual([]);
  });

  it('is a warning if it does not start with libvirt, and the suggested command changes that', async () => {
    definePool('manual');
    virsh('pool-autostart', 'manual', '--disable');
    const finding = onlyFinding(findingsAbout(await examinePool('manual', inLibvirtdMounts()), 'pool'));
    expect(finding).toMatchObject({ severity: 'warning', fix: expect.stringContaining(' pool-autostart manual') });
    applyFix(finding);
    expect(findingsAbout(await examinePool('manual', inLibvirtdMounts()), 'pool')).toEqual([]);
  });

  it('is a problem if its type accepts no uploads', async () => {
    const source = [
      '--source-host',
      'storage.example',
      '--source-dev',
      'iqn.2026-11.a:b',
      '--target',
      '/dev/disk/by-path',
    ];
    virsh('pool-define-as', 'remote', 'iscsi', ...source);
    const { message } = onlyFinding(findingsAbout(await examinePool('remote', inLibvirtdMounts()), 'pool'));
    expect(message).toBe(
      'The storage pool remote has the type iscsi, which accepts no uploads, so inserts of images and new volumes fail.',
    );
  });

  it('on a full disk is a problem', async () => {
    const folder = path.join(libvirtd.dir, 'tmp/full');
    execFileSync('mkdir', [folder]);
    execFileSync('nsenter', [...inLibvirtdMounts().slice(1), 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]);
    definePool('full', folder);
    const finding = onlyFinding(findingsAbout(await examinePool('full', inLibvirtdMounts()), 'disk'));
    expect(finding).toMatchObject({
      severity: 'problem',
      message: 'The storage pool full has 1 MiB free, so inserts of images and new volumes fail with 507.',
    });
    applyFix(finding);
  });

  it('is a warning if its folder is removed while it is active', async () => {
    definePool('removed');
    execFileSync('rmdir', [path.join(libvirtd.dir, 'lib/images/removed')]);
    const finding = onlyFinding(findingsAbout(await examinePool('removed', inLibvirtdMounts()), 'pool'));
    expect(finding).toMatchObject({
      severity: 'warning',
      message: expect.stringMatching(/^The folder \S+ of the storage pool removed is missing here, /),
    });
    applyFix(finding);
    expect(findingsAbout(await examinePool('removed', inLibvirtdMounts()), 'pool')).toEqual([]);
  });
});

describe('the firmware', () => {
  const hide = (folder: string): void =>
    void execFileSync('nsenter', [...inLibvirtdMounts().slice(1), 'mount', '-t', 'tmpfs', 'tmpfs', folder]);
  const show = (folder: string): void =>
    void execFileSync('nsenter', [...inLibvirtdMounts().slice(1), 'umount', folder]);

  it('is a problem if a file in the descriptors does not exist', async () => {
    hide('/usr/share/OVMF');
    try {
      const findings = findingsAbout(await examinePool(null, inLibvirtdMounts()), 'firmware');
      expect(findings[0]).toMatchObject({
        severity: 'problem',
        message: expect.stringMatching(
          /^QEMU's firmware descriptors name \/usr\/share\/OVMF\/\S+, which does not exist, so machines with UEFI cannot start\.$/,
        ),
        fix: expect.stringMatching(/install --reinstall ovmf$/),
      });
    } finally {
      show('/usr/share/OVMF');
    }
  });

  it('is a warning without descriptors, because clients cannot select UEFI', async () => {
    hide('/usr/share/qemu/firmware');
    try {
      expect(onlyFinding(findingsAbout(await examinePool(null, inLibvirtdMounts()), 'firmware'))).toMatchObject({
        severity: 'warning',
        message: expect.stringContaining('so clients cannot select the boot mode UEFI.'),
      });
    } finally {
      show('/usr/share/qemu/firmware');
    }
  });

  it('has a finding without Secure Boot, because clients cannot enable it', async () => {
    const folder = '/usr/share/qemu/firmware';
    hide(folder);
    try {
      const copy = `nsenter --mount --target ${libvirtd.pid} sh -c 'cat > ${folder}/60-plain.json'`;
      execFileSync('sh', ['-c', `cat ${folder}/60-edk2-x86_64.json | ${copy}`]);
      expect(onlyFinding(findingsAbout(await examinePool(null, inLibvirtdMounts()), 'firmware')).message).toMatch(
        /^No UEFI firmware has Secure Boot.*, so clients cannot enable Secure Boot\.$/,
      );
    } finally {
      show(folder);
    }
  });

  it('has a finding if a file in a setting does not exist', async () => {
    const file = '/usr/share/OVMF/ABSENT.fd';
    const report = await doctor(['--libvirt-uri', libvirtd.uri], { env: { EMULATOR_SECURE_BOOT_ENABLED_NVRAM: file } });
    expect(onlyFinding(findingsAbout(report, 'firmware')).message).toContain(`names ${file}, which does not exist`);
  });
});

describe('the socket', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'bmc-daemon-doctor-'));
    chmodSync(folder, 0o755);
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  // Only root can run a process as another account.
  const asRoot = process.getuid?.() === 0 ? it : it.skip;
  const nobody = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];

  asRoot.each([
    ['600', 0, 'the socket allows no group', 'unix_sock_group = "libvirt"'],
    ['660', 'libvirt', 'it is not in the group libvirt', 'usermod -aG libvirt nobody'],
  ])('with mode %s rejects an account; the finding has the reason and a command', async (mode, group, why, fix) => {
    const gid =
      typeof group === 'number' ? group : Number(execFileSync('getent', ['group', group]).toString().split(':')[2]);
    for (const each of [libvirtd.dir, path.join(libvirtd.dir, 'run')]) chmodSync(each, 0o755);
    chownSync(libvirtd.socket, 0, gid);
    chmodSync(libvirtd.socket, mode);
    const report = await doctor(['--libvirt-uri', libvirtd.uri], { through: nobody });
    chmodSync(libvirtd.socket, 0o700);
    expect(report.code).toBe(1);
    expect(onlyFinding(findingsAbout(report, 'socket'))).toEqual({
      severity: 'problem',
      host: 'localhost',
      subject: 'socket',
      message: `The account nobody may not use the socket ${libvirtd.socket}: ${why}, so the daemon answers 503 for every machine.`,
      fix: expect.stringContaining(fix),
    });
    // The state folder of this run belongs to root.
    expect(onlyFinding(findingsAbout(report, 'state')).message).toMatch(
      /^The account nobody cannot write to the state folder /,
    );
  });

  asRoot('in a closed folder is a problem, and the command opens the topmost closed folder', async () => {
    const closed = path.join(folder, 'closed');
    const run = path.join(closed, 'run');
    execFileSync('mkdir', ['-p', '-m', '755', run]);
    chmodSync(closed, 0o700);
    const socket = path.join(run, 'sock');
    const runDoctor = () => doctor(['--libvirt-uri', `qemu+unix:///system?socket=${socket}`], { through: nobody });
    const finding = onlyFinding(findingsAbout(await runDoctor(), 'socket'));
    expect(finding).toMatchObject({
      message: `The account nobody may not use the socket ${socket}: the folder ${closed} is not accessible, so the daemon answers 503 for every machine.`,
      fix: `sudo chmod a+x ${closed}`,
    });
    applyFix({ ...finding, fix: finding.fix?.replace('sudo ', '') ?? null });
    expect(onlyFinding(findingsAbout(await runDoctor(), 'socket')).message).toContain(`there is no socket ${socket}`);
  });

  asRoot('is not examined for TLS, where the account must be able to read the client key instead', async () => {
    for (const name of ['cacert.pem', 'clientcert.pem', 'clientkey.pem']) writeFileSync(path.join(folder, name), '');
    const key = path.join(folder, 'clientkey.pem');
    chmodSync(key, 0o600);
    const report = await doctor(['--libvirt-uri', `qemu+tls://127.0.0.1:1/system?pkipath=${folder}`], {
      through: nobody,
    });
    expect(report.findings.filter(({ host }) => host !== null)).toEqual([
      {
        severity: 'problem',
        host: '127.0.0.1',
        subject: 'certificate',
        message: `The account nobody cannot read ${key}, so the daemon answers 503 for its machines.`,
        fix: `sudo setfacl -m u:nobody:r ${key}`,
      },
    ]);
  });

  it('is a problem if it does not exist, or if no daemon listens at it', async () => {
    const socket = path.join(folder, 'sock');
    const examineSocket = () => doctor(['--libvirt-uri', `qemu+unix:///system?socket=${socket}`]);
    expect(onlyFinding(findingsAbout(await examineSocket(), 'socket')).message).toBe(
      `libvirt does not run: there is no socket ${socket}, so the daemon answers 503 for every machine.`,
    );
    // Creates a socket at which no process listens, as a killed daemon leaves it behind.
    execFileSync('python3', ['-c', 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])', socket]);
    expect(onlyFinding(findingsAbout(await examineSocket(), 'socket'))).toMatchObject({
      message: `No libvirt daemon listens at ${socket}, so the daemon answers 503 for every machine.`,
      fix: expect.stringMatching(/libvirtd\.socket$|libvirtd --daemon$/),
    });
  });

  it('does not block the doctor if its libvirtd hangs', async () => {
    libvirtd.signal('SIGSTOP');
    try {
      const report = await doctor(['--libvirt-uri', libvirtd.uri, '--timeout', '1']);
      expect(findingsAbout(report, 'libvirt')).toEqual([
        expect.objectContaining({
          severity: 'problem',
          message: 'libvirt did not answer within 1 s, so requests for its machines get 503 after a wait.',
        }),
      ]);
      expect(report.hosts).toEqual([expect.objectContaining({ libvirt: null, qemu: null })]);
    } finally {
      libvirtd.signal('SIGCONT');
    }
  });
});

describe('the network default', () => {
  const examineNetwork = async () => findingsAbout(await doctor(['--libvirt-uri', libvirtd.uri]), 'network');

  it('is a note if it does not exist, and a warning if it does not run or does not start with libvirt', async () => {
    const missing = onlyFinding(await examineNetwork());
    expect(missing).toMatchObject({
      severity: 'note',
      host: 'localhost',
      message: 'The host has no network default, so "bmc-daemon machine create" needs --network or --bridge.',
    });
    // The definition of libvirt's packages creates a bridge and rules in the network of this host. So the test does
    // not run this command, and defines a network that changes nothing.
    if (missing.fix !== null) expect(missing.fix).toContain(' net-define /usr/share/libvirt/networks/default.xml ');
    const definition = path.join(libvirtd.dir, 'tmp', 'network.xml');
    writeFileSync(definition, `<network><name>default</name><forward mode='bridge'/><bridge name='br0'/></network>`);
    virsh('net-define', definition);
    try {
      const inactive = onlyFinding(await examineNetwork());
      expect(inactive).toMatchObject({
        severity: 'warning',
        message: 'The network default is inactive, so machines that use it cannot start.',
      });
      applyFix(inactive);
      expect(await examineNetwork()).toEqual([]);
      virsh('net-autostart', 'default', '--disable');
      const manual = onlyFinding(await examineNetwork());
      expect(manual).toMatchObject({ severity: 'warning', fix: expect.stringContaining(' net-autostart default') });
      applyFix(manual);
      expect(await examineNetwork()).toEqual([]);
    } finally {
      virsh('net-destroy', 'default');
      virsh('net-undefine', 'default');
    }
  });
});

describe("libvirt's test driver", () => {
  it('has neither firmware nor KVM, and no finding about them', async () => {
    const uri = libvirtd.uri.replace(/^qemu\+unix:\/\/\/system/, 'test+unix:///default');
    const report = await doctor(['--libvirt-uri', uri]);
    expect(report.findings.filter(({ host }) => host !== null)).toEqual([]);
    expect(report.hosts).toEqual([{ name: 'localhost', uri, libvirt: expect.any(String), qemu: null }]);
  });
});

describe('the folders of a pool', () => {
  it('have a finding if the account of QEMU may not enter them', async () => {
    const other = await startLibvirtd({ driver: 'qemu', qemuConf: [`user = "+${NOBODY}"`, `group = "+${NOBODY}"`] });
    try {
      const closed = path.join(other.dir, 'tmp', 'closed');
      const images = path.join(closed, 'images');
      for (const each of [other.dir, path.join(other.dir, 'tmp')]) chmodSync(each, 0o755);
      execFileSync('mkdir', ['-m', '700', closed]);
      const call = (...words: readonly string[]) => execFileSync('virsh', ['--connect', other.uri, ...words]);
      call('pool-define-as', 'images', 'dir', '--target', images);
      for (const command of ['pool-build', 'pool-start', 'pool-autostart']) call(command, 'images');
      const runDoctor = () => doctor(['--libvirt-uri', other.uri], { env: { EMULATOR_STORAGE_POOL: 'images' } });
      const finding = onlyFinding(findingsAbout(await runDoctor(), 'pool'));
      expect(finding.message).toBe(
        `The account of QEMU (${NOBODY}) may not enter ${closed}, so machines with an inserted image cannot start.`,
      );
      chmodSync(closed, 0o711);
      expect(findingsAbout(await runDoctor(), 'pool')).toEqual([]);
      expect(existsSync(images)).toBe(true);
    } finally {
      await other.stop();
    }
  });
});
