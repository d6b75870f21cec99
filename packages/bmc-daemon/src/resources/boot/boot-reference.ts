/**
 * Names of boot options: kind and device, for example `Hdd.vda`. A name does not change when other
 * devices are added or removed.
 */
import type { BootSnapshot } from '../../drivers/snapshot/boot-snapshot.js';
import type { BootDevice, BootOptionSnapshot, DeviceKey } from '../../drivers/snapshot/firmware-snapshot.js';

/**
 * DMTF's BootSource for each kind of device.
 * @see DSP2046, ComputerSystem, BootSource
 */
export const bootSource = {
  network: 'Pxe',
  cdrom: 'Cd',
  hd: 'Hdd',
  fd: 'Floppy',
  usb: 'Usb',
} as const satisfies Readonly<Record<BootDevice, string>>;

/**
 * Returns the `BootOptionReference`, which is also the last segment of the option's URI: `Hdd.vda`,
 * `Pxe.525400123456`. It is not UEFI's `Boot####`. The firmware assigns those numbers inside the guest,
 * so a number from this service could belong to another device.
 */
export function bootReference({ key, kind }: BootOptionSnapshot): string {
  const device = key.slice(key.indexOf(':') + 1);
  return `${kind === null ? 'Device' : bootSource[kind]}.${device.replaceAll(':', '').replaceAll(/[^\w-]/g, '-')}`;
}

/** Returns the name of a machine's firmware for users. */
export function firmwareName({ firmware }: { readonly firmware: BootSnapshot['firmware'] | null }): string {
  if (firmware === null) return 'Firmware of unknown type';
  return firmware === 'efi' ? 'UEFI firmware' : 'Legacy BIOS firmware';
}

/**
 * Returns the device of a boot option; undefined for an unknown name. Ignores the case of the name.
 */
export function optionOf(options: ReadonlyMap<string, DeviceKey>, name: string): DeviceKey | undefined {
  const wanted = name.toLowerCase();
  return options.get(name) ?? [...options].find(([known]) => known.toLowerCase() === wanted)?.[1];
}
