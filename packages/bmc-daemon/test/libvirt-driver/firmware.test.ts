import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DriverError } from '../../src/drivers/driver-error.js';
import type { FirmwareType } from '../../src/drivers/snapshot/firmware-snapshot.js';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { guestImage } from '../harness/guest-image.js';
import { reaches, TestHost, type Guest } from './host.js';

let host: TestHost;
let disk: string;

beforeAll(async () => {
  host = await TestHost.start();
  disk = await guestImage({ kind: 'disk', system: 'grub', label: 'DISK' });
});
afterAll(() => host.stop());

const booted = (platform: string): string => `RACKLESS-DISK label=DISK platform=${platform}`;

/** Sets the mode, starts the guest, and switches it off again. Returns the guest's line about the firmware. */
async function bootAs(driver: CompleteDriver, guest: Guest, firmware: FirmwareType): Promise<string | undefined> {
  await driver.change(guest.uuid, { boot: { firmware } });
  expect((await driver.getSystem(guest.uuid)).boot.firmware).toBe(firmware);
  const before = guest.serial.events.length;
  await driver.power(guest.uuid, 'create');
  const events = await guest.serial.reaches(before + 2);
  await driver.power(guest.uuid, 'destroy');
  await reaches(driver, guest, 'shutoff');
  return events.at(-1);
}

describe.each([
  ['selected by libvirt', {}],
  [
    'that the map names',
    { efi: { x86_64: '/usr/share/OVMF/OVMF_CODE_4M.fd' }, bios: { x86_64: '/usr/share/seabios/bios-256k.bin' } },
  ],
])('firmware %s', (_how, bootLoaderMap) => {
  it('is changed to UEFI and back, and the guest boots with either', async () => {
    const driver = await host.driver({ bootLoaderMap });
    const guest = await host.guest({ disk, memoryMiB: 128 });
    expect(await bootAs(driver, guest, 'efi')).toBe(booted('efi'));
    expect(await bootAs(driver, guest, 'bios')).toBe(booted('pc'));
    // The file with the variables of the first UEFI boot still exists.
    expect(await bootAs(driver, guest, 'efi')).toBe(booted('efi'));
    await driver.close();
  });
});

describe('a change of the boot mode', () => {
  it('gives an error with architecture and path if the boot loader does not exist, and changes nothing', async () => {
    const driver = await host.driver({ bootLoaderMap: { efi: { x86_64: '/nowhere/OVMF.fd' } } });
    const guest = await host.guest();
    const definition = await host.inactiveXml(guest);
    const error: unknown = await driver
      .change(guest.uuid, { boot: { firmware: 'efi' } })
      .catch((reason: unknown) => reason);
    if (!(error instanceof DriverError)) throw new Error(`expected a DriverError, got ${String(error)}`);
    expect({ kind: error.kind, message: error.message, field: error.field }).toEqual({
      kind: 'invalid',
      message: 'setting the firmware to efi: the boot loader of x86_64, /nowhere/OVMF.fd, does not exist',
      field: 'firmware',
    });
    expect(await host.inactiveXml(guest)).toBe(definition);
    await driver.close();
  });

  it('takes effect at the next restart if the machine runs', async () => {
    const driver = await host.driver();
    const guest = await host.guest({ disk, memoryMiB: 128 });
    await driver.power(guest.uuid, 'create');
    expect((await guest.serial.reaches(2)).at(-1)).toBe(booted('pc'));
    await driver.change(guest.uuid, { boot: { firmware: 'efi' } });
    await driver.power(guest.uuid, 'reset');
    expect((await guest.serial.reaches(4)).slice(2)).toEqual(['<power on>', booted('efi')]);
    await driver.power(guest.uuid, 'destroy');
    await driver.close();
  });
});
