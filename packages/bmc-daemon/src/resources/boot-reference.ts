/** What boot options are called: a kind and a device, `Hdd.vda`, which no other device that comes or goes will change. */
import type { BootDevice } from '../drivers/driver.js';
import type { BootOptionSnapshot, DeviceKey } from '../drivers/firmware-snapshot.js';

/** DMTF's BootSource of a kind of device. */
export const bootSource = {
  network: 'Pxe',
  cdrom: 'Cd',
  hd: 'Hdd',
  fd: 'Floppy',
  usb: 'Usb',
} as const satisfies Readonly<Record<BootDevice, string>>;

/**
 * `BootOptionReference`, and the last segment of the option's URI: `Hdd.vda`, `Pxe.525400123456`. UEFI's own `Boot####` are numbers
 * that the firmware gives within the guest, where this service does not see them; to make some up could name another device there.
 */
export function bootReference({ key, kind }: BootOptionSnapshot): string {
  const device = key.slice(key.indexOf(':') + 1);
  return `${kind === null ? 'Device' : bootSource[kind]}.${device.replaceAll(':', '').replaceAll(/[^\w-]/g, '-')}`;
}

/** The device of a name as a client spells it, in any case. */
export function optionOf(options: ReadonlyMap<string, DeviceKey>, name: string): DeviceKey | undefined {
  const wanted = name.toLowerCase();
  return options.get(name) ?? [...options].find(([known]) => known.toLowerCase() === wanted)?.[1];
}
