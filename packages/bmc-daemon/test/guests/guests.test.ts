/**
 * Tests that the guests of scripts/guests work as the end-to-end suites expect. Otherwise, faults of
 * the guests could look like faults of the daemon.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import type { PrivateLibvirtd } from '../../../libvirt/test/harness/libvirtd.js';
import { virsh } from '../../../libvirt/test/harness/virsh.js';
import { copyGuestImage, guestImage } from '../harness/guest-image.js';
import type { GuestImage } from '../harness/guest-image.js';
import { guestMachineXml } from '../harness/guest-machine.js';
import type { GuestMachine } from '../harness/guest-machine.js';
import { SerialLine } from '../harness/serial-line.js';

let libvirtd: PrivateLibvirtd;
const lines: SerialLine[] = [];
const file = (name: string): string => join(libvirtd.dir, 'tmp', name);

beforeAll(async () => {
  libvirtd = await startLibvirtd({ driver: 'qemu' });
});
afterAll(async () => {
  await libvirtd.stop();
  for (const line of lines) await line.close();
});

type Wanted = Pick<GuestMachine, 'name' | 'firmware' | 'machine' | 'cdrom' | 'cdromBus'>;

/** Defines a machine, which is off. Returns its serial line, which `afterAll` closes. */
async function machine(options: Wanted, system: GuestImage['system']): Promise<SerialLine> {
  const serial = await SerialLine.listen();
  lines.push(serial);
  const disk = await copyGuestImage({ kind: 'disk', system, label: 'DISK' }, file(`${options.name}.img`));
  await writeFile(file(`${options.name}.xml`), guestMachineXml({ ...options, disk, serial }));
  await virsh(libvirtd, 'define', '--validate', file(`${options.name}.xml`));
  return serial;
}

/** Resolves when the machine is off. @throws {Error} after two minutes. */
async function untilOff(name: string): Promise<void> {
  const deadline = Date.now() + 120_000;
  while ((await virsh(libvirtd, 'domstate', name)) !== 'shut off') {
    if (Date.now() > deadline) throw new Error(`${name} is still on`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/**
 * Changes the media of a drive. Uses --force and retries, as the daemon does. libvirt gives a guest only 5 s to
 * open the tray, and a guest that reads its drive closes the tray.
 */
async function changeMedia(...options: readonly string[]): Promise<void> {
  for (;;) {
    try {
      await virsh(libvirtd, 'change-media', ...options, '--live', '--force');
      return;
    } catch (error) {
      if (!/Tray of .*device.* is not open/.test(String(error))) throw error;
    }
  }
}

describe.each([
  ['bios', 'pc'],
  ['efi', 'q35'],
] as const)('the GRUB guest on %s', (firmware, type) => {
  const name = `grub-${firmware}`;
  const platform = firmware === 'bios' ? 'pc' : 'efi';

  it('reports what it booted, disk or CD, and obeys reboot and halt', async () => {
    const cdrom = await guestImage({ kind: 'iso', system: 'grub', label: 'CD' });
    const serial = await machine({ name, firmware, machine: type, cdrom }, 'grub');
    await virsh(libvirtd, 'start', name);
    expect(await serial.waitFor(/RACKLESS-.*\n/)).toMatch(`RACKLESS-DISK label=DISK platform=${platform}`);
    await serial.waitFor(/grub> $/);
    serial.type('reboot');
    await serial.waitFor(/RACKLESS-DISK/);
    await serial.waitFor(/grub> $/);
    serial.type('halt');
    await untilOff(name);

    const xml = await virsh(libvirtd, 'dumpxml', '--inactive', name);
    await writeFile(file(`${name}.xml`), xml.replace(`<boot dev='hd'/>`, `<boot dev='cdrom'/>`));
    await virsh(libvirtd, 'define', file(`${name}.xml`));
    await virsh(libvirtd, 'start', name);
    expect(await serial.waitFor(/RACKLESS-.*\n/)).toMatch(`RACKLESS-ISO label=CD platform=${platform}`);
    await virsh(libvirtd, 'destroy', name);
  });
});

describe('the Linux guest', () => {
  it.each([
    ['bios', 'pc', 'ide', 'hdc'],
    ['efi', 'q35', 'scsi', 'sda'],
  ] as const)(
    'on %s and %s sees inserts and ejects, restarts on demand and obeys the power button',
    async (firmware, type, cdromBus, target) => {
      const name = `linux-${firmware}`;
      const serial = await machine({ name, firmware, machine: type, cdrom: null, cdromBus }, 'linux');
      await virsh(libvirtd, 'start', name);
      await serial.waitFor(/RACKLESS-DISK label=DISK platform=\w+ linux\n/);
      await serial.waitFor(/RACKLESS-MEDIA sr0 empty/);
      const image = await guestImage({ kind: 'iso', system: 'grub', label: 'LIVE' });
      await changeMedia(name, target, image, '--insert');
      await serial.waitFor(/RACKLESS-MEDIA sr0 LIVE\n/);
      await changeMedia(name, target, '--eject');
      await serial.waitFor(/RACKLESS-MEDIA sr0 empty/);

      serial.type('reboot');
      await serial.waitFor(/RACKLESS-DISK label=DISK/);
      await virsh(libvirtd, 'shutdown', name, '--mode', 'acpi');
      await serial.waitFor(/RACKLESS-POWERBUTTON/);
      await untilOff(name);
    },
  );

  it('boots from CD', async () => {
    const name = 'linux-cd';
    const cdrom = await guestImage({ kind: 'iso', system: 'linux', label: 'CD' });
    const serial = await machine({ name, firmware: 'bios', machine: 'q35', cdrom }, 'grub');
    const xml = await virsh(libvirtd, 'dumpxml', '--inactive', name);
    await writeFile(file(`${name}.xml`), xml.replace(`<boot dev='hd'/>`, `<boot dev='cdrom'/>`));
    await virsh(libvirtd, 'define', file(`${name}.xml`));
    await virsh(libvirtd, 'start', name);
    await serial.waitFor(/RACKLESS-ISO label=CD platform=pc linux/);
    await virsh(libvirtd, 'destroy', name);
  });
});
