/** Machines of `bmc-daemon machine create` over Redfish: their list, boots and volumes. */
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { DaemonProcess, waitFor } from '../daemon/process.js';
import { Bmc, Machine, property } from '../e2e/bmc.js';
import { becomes } from '../e2e/lab.js';
import { describeEndToEnd } from '../e2e/prerequisites.js';
import { guestImage } from '../harness/guest-image.js';
import { LabLibvirtd, type JsonReport } from './lab-libvirtd.js';

describeEndToEnd('lab machines', () => {
  let lab: LabLibvirtd;
  let daemon: DaemonProcess;
  let bmc: Bmc;

  beforeAll(async () => {
    lab = await LabLibvirtd.start();
    const file = join(lab.libvirtd.dir, 'tmp', 'bmc-daemon.conf');
    await writeFile(
      file,
      [
        `EMULATOR_LISTEN_IP = '127.0.0.1'`,
        'EMULATOR_LISTEN_PORT = 0',
        `EMULATOR_LIBVIRT_URI = '${lab.libvirtd.uri}'`,
        `EMULATOR_STATE_DIR = 'state'`,
        'EMULATOR_LIBVIRT_TIMEOUT_SECONDS = 60',
        '',
      ].join('\n'),
    );
    daemon = new DaemonProcess(['--config', file]);
    bmc = new Bmc(await daemon.address());
  });
  afterAll(async () => {
    await daemon.dispose();
    await lab.stop();
  });

  const system = (report: JsonReport | undefined): Machine => new Machine(report?.uuid ?? '', () => bmc);
  const prints = (name: string, pattern: RegExp): Promise<true> =>
    waitFor(
      async () => (pattern.test(await lab.serialLog(name)) ? true : undefined),
      () => `machine ${name} did not print ${String(pattern)}`,
    );

  it.each([
    ['BIOS', '--bios', /iPXE[\s\S]*Booting from Hard Disk/, 'pc'],
    ['UEFI', '--uefi', /iPXE|PXE over IPv4/, 'efi'],
  ])(
    'try the network at their first boot with %s, and boot from the disk when a client selects it',
    async (_name, option, first, platform) => {
      const [report] = await lab.results(
        'create',
        `boot${option}`,
        option,
        '--memory',
        '512M',
        '--disk',
        '1G',
        '--emulate',
      );
      const name = report?.name ?? '';
      const image = await guestImage({ kind: 'disk', system: 'grub', label: 'DISK' });
      await promisify(execFile)('qemu-img', ['convert', '-n', '-O', 'qcow2', image, join(lab.folder, `${name}.qcow2`)]);
      const machine = system(report);
      expect(await machine.powerState()).toBe('Off');
      const nics = await bmc.get(`${machine.path}/EthernetInterfaces?$expand=.`);
      const members = property(nics, 'Members') as readonly unknown[]; // Every collection has Members.
      expect(members.map((nic) => property(nic, 'MACAddress'))).toEqual(report?.macAddresses);

      await machine.reset('On');
      await prints(name, first);
      await machine.reset('ForceOff');
      await machine.setBoot({ target: 'Hdd', enabled: 'Once' });
      await machine.reset('On');
      await prints(name, new RegExp(`RACKLESS-DISK label=DISK platform=${platform}`));
      expect(await machine.powerState()).toBe('On');

      // Clients do not see a deleted machine anymore, and the daemon continues to serve.
      await lab.results('delete', name, '--force', '--yes');
      await becomes(async () => (await bmc.send('GET', machine.path)).status, 404);
      expect(await lab.contents()).toEqual({ domains: [], files: [] });
    },
  );

  it('appear over Redfish as soon as they are created, here 20 of them, with name, UUID and size', async () => {
    const reports = await lab.results('create', 'node', '--count', '20', '--cpus', '3', '--memory', '2G', '--emulate');
    const list = async () => {
      const body = await bmc.get('/redfish/v1/Systems?$expand=.');
      return (property(body, 'Members') as readonly unknown[]).map((each) => [
        property(each, 'Name'),
        property(each, 'UUID'),
        property(each, 'ProcessorSummary', 'Count'),
        property(each, 'MemorySummary', 'TotalSystemMemoryGiB'),
      ]);
    };
    const sorted = (rows: readonly (readonly unknown[])[]) => rows.map((row) => row.join(' ')).sort();
    expect(sorted(await list())).toEqual(sorted(reports.map(({ name, uuid }) => [name, uuid, 3, 2])));
    await lab.results('delete', 'node');
    expect(await lab.contents()).toEqual({ domains: [], files: [] });
  });

  it('have the volumes that clients create, until the machines are deleted', async () => {
    const [report] = await lab.results('create', 'node', '--memory', '512M', '--disk', '64M', '--emulate');
    const { path } = system(report);
    const answer = await bmc.finish(
      await bmc.send('POST', `${path}/Storage/scsi/Volumes`, { Name: 'data', CapacityBytes: 8 * 1024 ** 2 }),
    );
    expect([200, 201]).toContain(answer.status);
    const volumes = () => lab.virsh('vol-list', '--pool', 'rackless-images');
    expect(await volumes()).toContain(`rackless-volume-${report?.uuid ?? ''}-`);
    await lab.results('delete', 'node', '--yes');
    expect(await volumes()).not.toContain('rackless-volume-');
  });
});
