/** Tests `bmc-daemon machine` on a private libvirtd. No test waits for the boot of a machine. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { stat, unlink, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { readDomain } from '../../src/drivers/libvirt/xml/domain.js';
import { DaemonProcess } from '../daemon/process.js';
import { LabLibvirtd, reportsIn, runMachine } from './lab-libvirtd.js';

let lab: LabLibvirtd;
beforeAll(async () => {
  lab = await LabLibvirtd.start();
});
afterAll(() => lab.stop());

const nothing = { domains: [], files: [] };
/** Sizes for which every test host has room. `--emulate` skips the test of KVM. */
const small = ['--memory', '256M', '--disk', '64M', '--emulate'];

const definition = async (name: string) =>
  readDomain(await lab.virsh('dumpxml', '--inactive', '--security-info', name));

afterEach(async () => {
  // Deletes the machines that a test leaves. The next test needs an empty host.
  for (const name of (await lab.contents()).domains) {
    const { code } = await lab.machine('delete', '--force', '--yes', name);
    if (code !== 0) await lab.virsh('undefine', '--nvram', name);
  }
});

describe('machine create', () => {
  it('creates 20 machines, changes nothing the second time, and adds missing ones', async () => {
    const create = (count: number) =>
      lab.results(
        'create',
        'node',
        '--count',
        String(count),
        '--cpus',
        '4',
        '--memory',
        '16G',
        '--disk',
        '40G',
        '--uefi',
        '--emulate',
      );
    const first = await create(20);
    expect(first.map(({ name }) => name)).toEqual(Array.from({ length: 20 }, (_, index) => `node-${index + 1}`));
    expect(new Set(first.map(({ outcome }) => outcome))).toEqual(new Set(['created']));
    expect(new Set(first.flatMap(({ macAddresses }) => macAddresses)).size).toBe(20);
    expect(new Set(first.map(({ uuid }) => uuid)).size).toBe(20);
    const texts = () => Promise.all(first.map(({ name }) => lab.virsh('dumpxml', '--inactive', name)));
    const before = await texts();

    const second = await create(20);
    expect(second).toEqual(first.map((report) => ({ ...report, outcome: 'unchanged' })));
    expect(await texts()).toEqual(before);

    const third = await create(22);
    expect(third.map(({ outcome }) => outcome)).toEqual([...Array<string>(20).fill('unchanged'), 'created', 'created']);
    await lab.results('delete', 'node');
    expect(await lab.contents()).toEqual(nothing);

    // A machine's UUID and MAC addresses follow from its name, so they are the same again.
    expect((await create(2)).map(({ uuid, macAddresses }) => ({ uuid, macAddresses }))).toEqual(
      first.slice(0, 2).map(({ uuid, macAddresses }) => ({ uuid, macAddresses })),
    );
  });

  it('creates a machine with the hardware that the options name', async () => {
    const [report] = await lab.results(
      ...['create', 'full', '--cpus', '3', '--memory', '1.5G', '--disk', '1G', '--disk', '2G', '--disk-bus', 'virtio'],
      ...['--bridge', 'br1', '--network', 'default', '--bridge', 'br0', '--nic-model', 'e1000e', '--emulate'],
      ...['--mac-prefix', '52-54-00-AA-01', '--boot', 'disk,cdrom,network', '--secure-boot', '--cpu-model', 'qemu64'],
    );
    expect(report?.macAddresses).toEqual(['52:54:00:aa:01:01', '52:54:00:aa:01:02', '52:54:00:aa:01:03']);
    const { processors, memoryKiB, devices, os, type } = await definition('full');
    expect(type).toBe('qemu');
    expect(processors).toMatchObject({ count: 3, sockets: 1, coresPerSocket: 3, model: 'qemu64' });
    expect(memoryKiB).toBe(1.5 * 1024 ** 2);
    expect(os.firmwareFeatures.get('secure-boot')).toBe(true);
    expect(
      devices.interfaces.map(({ type: kind, source, model, bootOrder }) => [kind, source, model, bootOrder]),
    ).toEqual([
      ['bridge', 'br1', 'e1000e', 4],
      ['network', 'default', 'e1000e', 5],
      ['bridge', 'br0', 'e1000e', 6],
    ]);
    expect(devices.disks.map(({ device, target, bus, bootOrder }) => [device, target, bus, bootOrder])).toEqual([
      ['disk', 'vda', 'virtio', 1],
      ['disk', 'vdb', 'virtio', 2],
      ['cdrom', 'sda', 'sata', 3],
    ]);
    expect(report?.volumes).toEqual([
      { pool: 'default', volume: 'full.qcow2' },
      { pool: 'default', volume: 'full-disk2.qcow2' },
    ]);
    expect(await lab.virsh('vol-info', '--bytes', '--pool', 'default', 'full-disk2.qcow2')).toMatch(
      new RegExp(`Capacity: +${2 * 1024 ** 3} bytes`),
    );
  });

  it('creates each machine once if several commands run at once, also with different URIs', async () => {
    const { socket } = lab.libvirtd;
    const uris = ['qemu:///system', 'qemu+unix:///system', 'qemu+unix:///system?mode=direct'];
    const all = await Promise.all(
      uris.map((uri) => {
        const to = `${uri}${uri.includes('?') ? '&' : '?'}socket=${socket}`;
        return runMachine('create', 'node', '--count', '3', ...small, '--json', '--libvirt-uri', to);
      }),
    );
    const outcomes = all
      .map(({ stdout }) => reportsIn(stdout))
      .map((reports) => reports.map(({ outcome }) => outcome).join())
      .sort();
    const later = 'unchanged,unchanged,unchanged';
    expect(outcomes).toEqual(['created,created,created', later, later]);
    const names = ['node-1', 'node-2', 'node-3'];
    expect(await lab.contents()).toEqual({ domains: names, files: names.map((name) => `${name}.qcow2`) });
  });

  it('creates a machine that boots from the network before the disk by default', async () => {
    await lab.results('create', 'node', '--network', 'default', '--network', 'default', ...small);
    const { devices } = await definition('node');
    expect(devices.interfaces.map(({ bootOrder }) => bootOrder)).toEqual([1, 2]);
    expect(devices.disks.map(({ target, bootOrder }) => [target, bootOrder])).toEqual([
      ['sda', 3],
      ['sdb', null],
    ]);
  });

  it('reports a machine that differs, and does not change it', async () => {
    await lab.results('create', 'node', ...small);
    const before = await lab.virsh('dumpxml', '--inactive', 'node');
    const { code, stdout } = await lab.machine(
      ...[
        'create',
        'node',
        '--memory',
        '512M',
        '--disk',
        '64M',
        '--disk',
        '1G',
        '--cpus',
        '1',
        '--bios',
        '--bridge',
        'br0',
      ],
      ...['--mac', '52:54:00:00:00:09', '--emulate', '--json'],
    );
    expect(code).toBe(1);
    expect(reportsIn(stdout)).toMatchObject([
      {
        outcome: 'differs',
        notes: [
          'cpus: the machine has 2; requested: 1',
          'memory: the machine has 256 MiB; requested: 512 MiB',
          'disks: the machine has 64 MiB; requested: 64 MiB, 1 GiB',
          'networks: the machine has network default; requested: bridge br0',
          'firmware: the machine has uefi; requested: bios',
          expect.stringMatching(/^mac addresses: the machine has 52:54:00:\S+; requested: 52:54:00:00:00:09$/),
        ],
      },
    ]);
    expect(await lab.virsh('dumpxml', '--inactive', 'node')).toBe(before);
  });

  it('creates nothing if another program has a machine or a volume with one of the names', async () => {
    await lab.define(
      'domain',
      `<domain type='qemu'><name>node-2</name><memory>65536</memory><os><type>hvm</type></os></domain>`,
    );
    const foreign = await lab.machine('create', 'node', '--count', '3', ...small);
    expect(foreign).toMatchObject({ code: 1, stdout: '' });
    expect(foreign.stderr).toBe('bmc-daemon: machine node-2 exists, and bmc-daemon machine did not create it\n');
    expect(await lab.contents()).toMatchObject({ domains: ['node-2'], files: [] });
    await lab.virsh('undefine', 'node-2');

    await writeFile(join(lab.folder, 'node-3.qcow2'), 'precious');
    const taken = await lab.machine('create', 'node', '--count', '3', ...small);
    expect(taken.code).toBe(1);
    expect(taken.stderr).toMatch(/pool default already has a volume node-3\.qcow2/);
    expect(await lab.contents()).toEqual({ domains: [], files: ['node-3.qcow2'] });
    await lab.virsh('pool-refresh', 'default');
    await lab.virsh('vol-delete', '--pool', 'default', 'node-3.qcow2');
  });

  it('removes an incomplete machine if the pool becomes full, and keeps the machines that are complete', async () => {
    const folder = join(lab.libvirtd.dir, 'tmp', 'full');
    // Mounts a small tmpfs in the mount namespace of libvirtd, so that the pool becomes full.
    await promisify(execFile)('mkdir', [folder]);
    await promisify(execFile)('nsenter', [
      ...['--target', String(lab.libvirtd.pid), '--mount'],
      ...['mount', '-t', 'tmpfs', '-o', 'size=600k', 'tmpfs', folder],
    ]);
    await lab.virsh('pool-create-as', 'full', 'dir', '--target', folder);
    const { code, stdout } = await lab.machine('create', 'node', '--count', '5', '--pool', 'full', ...small, '--json');
    expect(code).toBe(1);
    const reports = reportsIn(stdout);
    expect(reports.at(-1)).toMatchObject({ outcome: 'failed', uuid: null, volumes: [] });
    expect(reports.at(-1)?.notes.join()).toMatch(/^creating volume node-\d\.qcow2 in pool full: .*No space left/);
    const complete = reports.slice(0, -1).map(({ name, outcome }) => ({ name, outcome }));
    expect(complete.length).toBeGreaterThan(0);
    expect(new Set(complete.map(({ outcome }) => outcome))).toEqual(new Set(['created']));
    const names = complete.map(({ name }) => name);
    expect((await lab.contents()).domains).toEqual(names);
    await lab.virsh('pool-refresh', 'full');
    const volumes = await lab.virsh('vol-list', '--pool', 'full');
    expect(volumes.match(/node-\d\.qcow2 /g)?.map((name) => name.trim())).toEqual(names.map((name) => `${name}.qcow2`));
    await lab.results('delete', 'node');
    await lab.virsh('pool-destroy', 'full');
  });

  it('does not delete a volume of an incomplete machine if another program has written to it or uses it', async () => {
    await lab.results('create', 'node', ...small);
    const interrupted = (await lab.virsh('dumpxml', '--inactive', 'node')).replace(
      '"complete":true',
      '"complete":false',
    );
    await lab.define('domain', interrupted);
    const file = join(lab.folder, 'node.qcow2');
    await writeFile(file, Buffer.alloc(2 * 1024 ** 2, 'precious'));
    const data = await lab.machine('create', 'node', ...small);
    expect([data.code, data.stderr]).toEqual([
      1,
      'bmc-daemon: machine node is incomplete, and its disks contain data: ' +
        `run "bmc-daemon machine delete --libvirt-uri '${lab.libvirtd.uri}' node"\n`,
    ]);
    await writeFile(file, '');
    await lab.define(
      'domain',
      `<domain type='qemu'><name>theirs</name><memory>65536</memory><os><type>hvm</type></os><devices>
        <disk type='file' device='disk'><source file='${file}'/><target dev='vda'/></disk></devices></domain>`,
    );
    const used = await lab.machine('create', 'node', ...small);
    expect([used.code, used.stderr]).toEqual([1, 'bmc-daemon: volume node.qcow2 stays: machine theirs also uses it\n']);
    expect((await stat(file)).size).toBe(0);
    await lab.virsh('undefine', 'theirs');
    expect(await lab.results('create', 'node', ...small)).toMatchObject([{ outcome: 'created' }]);
  });

  it.each([
    [['--network', 'nowhere'], /the host has no network nowhere; it has default/],
    [['--bridge', 'br7', '--bridge', 'br0', '--bridge', 'br8'], /has no bridge br7\n.*has no bridge br8\n$/],
    [['--bridge', 'lo'], /the interface lo of the host is not a bridge/],
    [['--pool', 'nowhere'], /the host has no storage pool nowhere; it has default/],
    [['--cpu-model', 'pentium99'], /the host has no CPU model pentium99; it has .*qemu64/],
  ])('reports what the host does not have, and an interface that is no bridge: %j', async (option, message) => {
    const { code, stderr } = await lab.machine('create', 'node', ...small, ...option);
    expect(code).toBe(1);
    expect(stderr).toMatch(message);
    expect(await lab.contents()).toEqual(nothing);
  });

  it('reports the machine that already has the requested MAC address', async () => {
    await lab.results('create', 'node', '--mac', '52:54:00:00:00:01', ...small);
    const { code, stderr } = await lab.machine('create', 'other', '--mac', '52:54:00:00:00:01', ...small);
    expect([code, stderr]).toEqual([
      1,
      'bmc-daemon: machine other: machine node has the MAC address 52:54:00:00:00:01\n',
    ]);
  });

  it('warns if a machine has more memory than the host, and creates the machine', async () => {
    const { code, stderr } = await lab.machine('create', 'node', ...small, '--memory', '8191T');
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^bmc-daemon: --memory is 8588886016 MiB and the host has \d+ MiB, so a machine may not start\n$/,
    );
  });

  it('warns if the network is not active, and creates the machine', async () => {
    await lab.virsh('net-destroy', 'default');
    const { code, stderr } = await lab.machine('create', 'node', ...small);
    await lab.virsh('net-start', 'default');
    expect(code).toBe(0);
    const command = `virsh --connect '${lab.libvirtd.uri}' net-start default`;
    expect(stderr).toBe(`bmc-daemon: network default is not active: run "${command}" before a machine starts\n`);
  });

  it('reports that the bridge of a network does not exist', async () => {
    const definition = `<name>lost</name><forward mode='bridge'/><bridge name='br9'/>`;
    await lab.define('net', `<network>${definition}</network>`);
    await lab.virsh('net-start', 'lost');
    const { code, stderr } = await lab.machine('create', 'node', ...small, '--network', 'lost');
    await lab.virsh('net-destroy', 'lost');
    await lab.virsh('net-undefine', 'lost');
    expect([code, stderr]).toEqual([1, 'bmc-daemon: network lost cannot be used: the host has no bridge br9\n']);
    expect(await lab.contents()).toEqual(nothing);
  });
});

describe('machine create on a host that starts no guest', () => {
  it("reports libvirt's reason, and does not blame KVM", async () => {
    // virtlogd does not run in the private namespace, so no guest starts.
    const withoutLogs = await LabLibvirtd.start(['stdio_handler = "logd"']);
    try {
      const { code, stderr } = await withoutLogs.machine('create', 'node', '--memory', '256M', '--disk', '64M');
      expect([code, stderr]).toEqual([
        1,
        expect.stringMatching(/^bmc-daemon: starting an emulated guest to test the host: .*virtlogd-sock.*\n$/),
      ]);
      expect(await withoutLogs.contents()).toEqual(nothing);
    } finally {
      await withoutLogs.stop();
    }
  });
});

describe('machine clone', () => {
  it('copies the definition and the disks, with another identity', async () => {
    await lab.results('create', 'golden', ...small, '--disk', '32M');
    await promisify(execFile)('qemu-io', ['-c', 'write -P 0x5a 0 1M', join(lab.folder, 'golden-disk2.qcow2')]);
    const clones = await lab.results('clone', 'golden', 'copy', '--count', '2');
    expect(clones.map(({ name, outcome }) => [name, outcome])).toEqual([
      ['copy-1', 'created'],
      ['copy-2', 'created'],
    ]);
    const [source, copy] = [await definition('golden'), await definition('copy-1')];
    const [mac] = source.devices.interfaces.map((nic) => nic.mac);
    expect(copy.uuid).not.toBe(source.uuid);
    expect(copy.devices.interfaces.map((nic) => nic.mac)).toEqual(clones[0]?.macAddresses);
    expect(clones[0]?.macAddresses).not.toContain(mac);
    expect(copy).toMatchObject({ memoryKiB: source.memoryKiB, firmware: source.firmware, type: source.type });
    expect(copy.devices.disks.map(({ source: { name } }) => name)).toEqual([
      join(lab.folder, 'copy-1.qcow2'),
      join(lab.folder, 'copy-1-disk2.qcow2'),
      null,
    ]);
    expect(copy.devices.disks[0]?.serial).not.toBe(source.devices.disks[0]?.serial);
    const read = await promisify(execFile)('qemu-io', [
      '-c',
      'read -P 0x5a 0 1M',
      join(lab.folder, 'copy-2-disk2.qcow2'),
    ]);
    expect(read.stdout).not.toMatch(/verification failed/);

    expect((await lab.results('clone', 'golden', 'copy', '--count', '2')).map(({ outcome }) => outcome)).toEqual([
      'unchanged',
      'unchanged',
    ]);
    const itself = await lab.machine('clone', 'golden', 'golden');
    expect(itself.code).toBe(1);
    expect(itself.stdout + itself.stderr).toContain('it is the source itself: give the copy another name');
    await lab.results('delete', 'copy', '--yes');
    expect((await lab.contents()).domains).toEqual(['golden']);
  });

  it('copies a machine of another program to another pool', async () => {
    await lab.virsh('vol-create-as', 'default', 'theirs.img', '1M', '--format', 'raw');
    await lab.define(
      'domain',
      `<domain type='qemu'><name>theirs</name><memory>65536</memory><os><type machine='q35'>hvm</type></os>
        <sysinfo type='smbios'><system><entry name='uuid'>7cc4bb10-1234-4f62-9b0b-0123456789ab</entry></system></sysinfo>
        <uuid>7cc4bb10-1234-4f62-9b0b-0123456789ab</uuid>
        <devices><disk type='file' device='disk'><driver name='qemu' type='raw'/>
          <source file='${join(lab.folder, 'theirs.img')}'/><target dev='vda' bus='virtio'/></disk></devices></domain>`,
    );
    const folder = join(lab.libvirtd.dir, 'tmp', 'other');
    await lab.virsh('pool-define-as', 'other', 'dir', '--target', folder);
    await lab.virsh('pool-build', 'other');
    await lab.results('clone', 'theirs', 'ours', '--pool', 'other');
    expect((await definition('ours')).devices.disks[0]?.source.name).toBe(join(folder, 'ours.img'));
    expect((await stat(join(folder, 'ours.img'))).size).toBe(1024 ** 2);
    const { code, stderr } = await lab.machine('delete', 'theirs');
    expect([code, stderr]).toEqual([1, 'bmc-daemon: machine theirs stays: bmc-daemon machine did not create it\n']);
    await lab.results('delete', 'ours', '--yes');
    await expect(stat(join(folder, 'ours.img'))).rejects.toThrow('ENOENT');
    await lab.virsh('undefine', 'theirs');
    await lab.virsh('vol-delete', '--pool', 'default', 'theirs.img');
  });

  it('rejects a running machine', async () => {
    await lab.results('create', 'golden', ...small, '--bios');
    await lab.virsh('start', 'golden');
    const { code, stderr } = await lab.machine('clone', 'golden', 'copy');
    expect([code, stderr]).toMatchObject([1, expect.stringMatching(/machine golden is running: power it off/)]);
  });
});

describe('machine delete', () => {
  it('deletes the NVRAM, the log and the saved state of a UEFI machine that has run', async () => {
    await lab.results('create', 'node', ...small);
    await lab.virsh('start', 'node');
    const running = await lab.machine('delete', 'node');
    expect([running.code, running.stderr]).toEqual([
      1,
      'bmc-daemon: machine node is running: power it off, or use --force\n',
    ]);
    await lab.virsh('managedsave', 'node');
    expect((await lab.contents()).files).toEqual(
      expect.arrayContaining(['node_VARS.fd', 'node-serial0.log', 'node.save', 'node.qcow2']),
    );
    await lab.results('delete', 'node', '--yes');
    expect(await lab.contents()).toEqual(nothing);
  });

  it('deletes the disks of a machine that lost its definition while it runs', async () => {
    await lab.results('create', 'node', ...small, '--bios');
    await lab.virsh('start', 'node');
    await lab.virsh('undefine', 'node');
    expect(await lab.results('delete', 'node', '--force')).toMatchObject([{ outcome: 'deleted' }]);
    expect(await lab.contents()).toEqual(nothing);
  });

  it('keeps a log whose name another machine also uses', async () => {
    await lab.results('create', 'node', ...small);
    await lab.define(
      'domain',
      `<domain type='qemu'><name>node-serial0</name><memory>65536</memory><os><type machine='q35'>hvm</type></os></domain>`,
    );
    const folder = join(lab.libvirtd.dir, 'log/qemu');
    for (const name of ['node.log', 'node-serial0.log', 'node-serial0.log.0'])
      await writeFile(join(folder, name), name);
    expect(await lab.results('delete', 'node')).toMatchObject([
      {
        outcome: 'deleted',
        notes: ['log node-serial0.log in /var/log/libvirt/qemu stays: machine node-serial0 also uses this name'],
      },
    ]);
    expect((await lab.contents()).files).toEqual(['node-serial0.log', 'node-serial0.log.0']);
    await lab.virsh('undefine', 'node-serial0');
    for (const name of ['node-serial0.log', 'node-serial0.log.0']) await unlink(join(folder, name));
  });

  it('powers a running machine off with --force', async () => {
    await lab.results('create', 'node', ...small, '--bios');
    await lab.virsh('start', 'node');
    await lab.results('delete', 'node', '--force');
    expect(await lab.contents()).toEqual(nothing);
  });

  it('rejects the deletion of data without --yes if there is no terminal', async () => {
    await lab.results('create', 'node', ...small);
    await promisify(execFile)('qemu-io', ['-c', 'write 0 4M', join(lab.folder, 'node.qcow2')]);
    const { code, stderr } = await lab.machine('delete', 'node');
    expect([code, stderr]).toMatchObject([
      1,
      expect.stringMatching(/would delete 4\.\d MiB of data .* of node: use --yes/),
    ]);
    expect((await lab.contents()).domains).toEqual(['node']);
  });

  it('does not delete a disk that another machine or volume needs', async () => {
    await lab.results('create', 'node', ...small);
    await lab.virsh(
      ...['vol-create-as', 'default', 'overlay.qcow2', '64M', '--format', 'qcow2'],
      ...['--backing-vol', 'node.qcow2', '--backing-vol-format', 'qcow2'],
    );
    const backed = await lab.machine('delete', 'node', '--yes');
    expect([backed.code, backed.stderr]).toEqual([
      1,
      'bmc-daemon: volume node.qcow2 stays: volume overlay.qcow2 is based on it\n',
    ]);
    await lab.virsh('vol-delete', '--pool', 'default', 'overlay.qcow2');
    await lab.define(
      'domain',
      `<domain type='qemu'><name>theirs</name><memory>65536</memory><os><type>hvm</type></os><devices>
        <disk type='file' device='disk'><source file='${join(lab.folder, 'node.qcow2')}'/><target dev='vda'/></disk>
        </devices></domain>`,
    );
    const shared = await lab.machine('delete', 'node', '--yes');
    expect([shared.code, shared.stderr]).toEqual([
      1,
      'bmc-daemon: volume node.qcow2 stays: machine theirs also uses it\n',
    ]);
    await lab.virsh('undefine', 'theirs');
  });

  it('does not delete a machine of another program that has a copy of the metadata', async () => {
    const [node] = await lab.results('create', 'node', ...small);
    const copy = (await lab.virsh('dumpxml', '--inactive', 'node'))
      .replace('<name>node<', '<name>copy<')
      .replace(/<uuid>.*<\/uuid>/, '')
      .replace(/<mac .*\/>/, '')
      .replace('node.qcow2', 'elsewhere.qcow2');
    expect(copy).toContain(node?.uuid);
    await lab.define('domain', copy);
    const { code, stderr } = await lab.machine('delete', 'copy');
    expect([code, stderr]).toEqual([1, 'bmc-daemon: machine copy stays: bmc-daemon machine did not create it\n']);
    await lab.virsh('undefine', '--nvram', 'copy');
  });

  it('reports a machine that does not exist, and succeeds', async () => {
    expect(await lab.results('delete', 'missing')).toMatchObject([{ name: 'missing', outcome: 'absent' }]);
  });
});

describe('machine list', () => {
  it('fails with a message if standard output cannot be written', async () => {
    await lab.results('create', 'node', ...small);
    const bin = join(import.meta.dirname, '../../bin/bmc-daemon.js');
    const args = [process.execPath, bin, 'machine', 'list', '--libvirt-uri', lab.libvirtd.uri];
    await expect(promisify(execFile)('sh', ['-c', '"$0" "$@" >/dev/full', ...args])).rejects.toMatchObject({
      code: 1,
      stderr: 'bmc-daemon: writing standard output: there is no room left on the device\n',
    });
  });

  it('prints the machines that `bmc-daemon machine` has created', async () => {
    const none = await lab.machine('list');
    expect([none.code, none.stdout]).toEqual([0, '']);
    const [node] = await lab.results('create', 'node', ...small);
    const { stdout } = await lab.machine('list');
    expect(stdout).toBe(
      `NAME  STATE  CPUS  MEMORY   FIRMWARE  UUID                                  MAC ADDRESSES\n` +
        `node  off    2     256 MiB  UEFI      ${node?.uuid ?? ''}  ${node?.macAddresses[0] ?? ''}\n`,
    );
    expect(JSON.parse((await lab.machine('list', '--json')).stdout)).toMatchObject({
      machines: [{ name: 'node', host: expect.any(String) as unknown, group: null, state: 'off', memoryMiB: 256 }],
    });
  });
});

describe('the arguments of a machine command', () => {
  it.each([
    [
      ['--mac', '52:54:00:00:00:01', '--mac', '52:54:00:00:00:02'],
      '--mac is given 2 times, and the number of interfaces is 1',
    ],
    [
      ['--mac', '52:54:00:00:00:01', '--mac', '52:54:00:00:00:01', '--bridge', 'br0', '--bridge', 'br1'],
      'two interfaces have the same --mac',
    ],
    [['--nic-model', ''], "option '--nic-model <model>' argument '' is invalid. Allowed choices are virtio, "],
    [['--bridge', ''], "option '--bridge <name>' argument '' is invalid. Use the name of an interface"],
  ])('are rejected if they are %j', async (args, message) => {
    const { code, stdout, stderr } = await lab.machine('create', 'node', ...args);
    expect([code, stdout, stderr]).toEqual([64, '', expect.stringContaining(`error: ${message}`)]);
  });

  it('end the command with status 78 and a message that names the setting if the URI is wrong', async () => {
    expect(await runMachine('list', '--libvirt-uri', 'nowhere')).toMatchObject({
      code: 78,
      stdout: '',
      stderr:
        '--libvirt-uri: EMULATOR_LIBVIRT_URI cannot be used: reading the connection URI "nowhere": ' +
        'a libvirt URI looks like qemu:///system\n',
    });
  });
});

describe('machine --host', () => {
  it('is required to create on one of several hosts, and errors list the hosts', async () => {
    const file = join(lab.libvirtd.dir, 'tmp', 'hosts.conf');
    const other = 'qemu+unix:///system?socket=/nowhere';
    await writeFile(file, `EMULATOR_LIBVIRT_URI = {'here': '${lab.libvirtd.uri}', 'there': '${other}'}\n`);
    const onHost = (...args: readonly string[]) => runMachine(...args, '--config', file);
    const none = await onHost('create', 'node', ...small);
    expect([none.code, none.stderr]).toEqual([1, 'bmc-daemon: select one of several hosts with --host: here, there\n']);
    const wrong = await onHost('list', '--host', 'nowhere');
    expect([wrong.code, wrong.stderr]).toEqual([
      1,
      'bmc-daemon: there is no host nowhere; EMULATOR_LIBVIRT_URI has here, there\n',
    ]);
    expect((await onHost('create', 'node', '--host', 'here', ...small)).code).toBe(0);
    expect((await lab.contents()).domains).toEqual(['node']);
    const lost = await onHost('list', '--host', 'there');
    expect([lost.code, lost.stderr]).toMatchObject([
      1,
      expect.stringMatching(/^bmc-daemon: connecting to qemu\+unix:(?!.*connecting).*ENOENT/),
    ]);
  });

  it('selects one of two hosts with the same host name, and their machines get different addresses', async () => {
    const second = await LabLibvirtd.start();
    const file = join(lab.libvirtd.dir, 'tmp', 'equal-names.conf');
    const { uri } = lab.libvirtd;
    await writeFile(file, `EMULATOR_LIBVIRT_URI = {'rack-1': '${uri}', 'rack-2': '${second.libvirtd.uri}'}\n`);
    const create = async (host: string, ...args: readonly string[]) => {
      const finished = await runMachine(...args, '--config', file, '--host', host, '--json');
      const [report] = reportsIn(finished.stdout);
      return { stderr: finished.stderr, uuid: report?.uuid, macs: report?.macAddresses };
    };
    try {
      const first = await create('rack-1', 'create', 'node', ...small);
      const other = await create('rack-2', 'create', 'node', ...small);
      expect([first.stderr, other.stderr]).toEqual(['', '']);
      expect(other.uuid).not.toBe(first.uuid);
      expect(other.macs).not.toEqual(first.macs);
      const clone = await create('rack-2', 'clone', 'node', 'copy');
      await second.results('delete', 'copy');
      // The addresses of a machine that is created again are the same.
      expect(await create('rack-2', 'clone', 'node', 'copy')).toEqual(clone);
    } finally {
      await second.stop();
    }
    const lost = await create('rack-1', 'create', 'more', ...small);
    expect(lost.stderr).toBe(
      'bmc-daemon: host rack-2 does not answer: if both hosts have the same host name, new machines can get UUIDs ' +
        'that rack-2 already uses\n',
    );
    expect(lost.uuid).toEqual(expect.any(String));
  });

  it.each([
    ['the chosen host', 'silent', 'here'],
    ['another host', 'here', 'silent'],
  ])('lets Ctrl-C end the command while %s does not answer', async (_which, chosen, other) => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    // The address of a TCP server is an object.
    const { port } = silent.address() as AddressInfo;
    const { dir, uri } = lab.libvirtd;
    const uris: Readonly<Record<string, string>> = { here: uri, silent: `qemu+tcp://127.0.0.1:${port}/system` };
    const file = join(dir, 'tmp', 'silent.conf');
    const hosts = [chosen, other].map((name) => `'${name}': '${uris[name] ?? ''}'`);
    await writeFile(file, `EMULATOR_LIBVIRT_URI = {${hosts.join()}}\n`);
    const connected = once(silent, 'connection');
    const command = new DaemonProcess(['machine', 'create', 'node', ...small, '--host', chosen, '--config', file]);
    try {
      await connected;
      command.signal('SIGINT');
      const { code, stdout, stderr } = await command.waitForExit();
      expect([code, stdout, stderr.replace('bmc-daemon: waiting for another command to end\n', '')]).toEqual([
        ...[1, ''],
        'bmc-daemon: ending after the current machine; a second Ctrl-C ends at once\n',
      ]);
      expect(await lab.contents()).toEqual(nothing);
    } finally {
      await command.dispose();
      silent.close();
    }
  });

  it('is not needed to list the machines of all hosts, and a host that does not answer is reported', async () => {
    const second = await LabLibvirtd.start();
    const file = join(lab.libvirtd.dir, 'tmp', 'all-hosts.conf');
    const write = (hosts: readonly string[]) => writeFile(file, `EMULATOR_LIBVIRT_URI = {${hosts.join()}}\n`);
    const both = [`'rack-1': '${lab.libvirtd.uri}'`, `'rack-2': '${second.libvirtd.uri}'`];
    const list = (...args: readonly string[]) => runMachine('list', '--config', file, ...args);
    try {
      await write(both);
      expect(await list()).toMatchObject({
        code: 0,
        stdout: '',
        stderr: 'bmc-daemon: this command has created no machine on these hosts\n',
      });
      await lab.results('create', 'node-a', ...small);
      await second.results('create', 'node-b', ...small);
      const table = await list();
      expect([table.code, table.stderr]).toEqual([0, '']);
      expect(table.stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 3))).toEqual([
        ['HOST', 'NAME', 'STATE'],
        ['rack-1', 'node-a', 'off'],
        ['rack-2', 'node-b', 'off'],
        [''],
      ]);
      await write([...both, `'rack-3': 'qemu+unix:///system?socket=/nowhere'`]);
      const partial = await list('--json');
      expect(JSON.parse(partial.stdout)).toMatchObject({
        machines: [
          { host: 'rack-1', name: 'node-a' },
          { host: 'rack-2', name: 'node-b' },
        ],
      });
      expect([partial.code, partial.stderr]).toEqual([
        1,
        expect.stringMatching(/^bmc-daemon: host rack-3: connecting to qemu\+unix:(?!.*connecting).*ENOENT.*\n$/),
      ]);
    } finally {
      await second.stop();
    }
  });
});
