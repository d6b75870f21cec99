/** The `<address>` of a device: where it sits on which controller. @see https://libvirt.org/formatdomain.html#device-addresses */
import { attribute, child } from './parse.js';
import type { XmlElement } from './parse.js';

/** An address by its kind, with those parts that are looked at. */
export type DeviceAddress =
  | {
      readonly type: 'pci';
      readonly domain: number;
      /** Index of the PCI controller that it is plugged into, not what the guest calls the bus. */
      readonly bus: number;
      readonly slot: number;
      readonly function: number;
    }
  | {
      readonly type: 'drive';
      readonly controller: number;
      readonly bus: number;
      readonly target: number;
      readonly unit: number;
    }
  | {
      readonly type: 'usb';
      readonly bus: number;
      /** One number per hub on the way, the root hub's first. */
      readonly ports: readonly number[];
    }
  /** `ccw`, `virtio-mmio`, `isa`, `spapr-vio`, …: nothing here needs their parts. */
  | { readonly type: 'other'; readonly name: string };

/** A device's guest address; null where libvirt has given none yet, as in a definition that was never defined. */
export function readAddress(device: XmlElement): DeviceAddress | null {
  const element = child(device, 'address');
  const type = attribute(element, 'type');
  if (element === undefined || type === null) return null;
  // libvirt writes PCI parts in hexadecimal with 0x and the others in decimal; Number reads both.
  const part = (name: string): number => Number(attribute(element, name) ?? 0);
  if (type === 'pci') {
    return { type, domain: part('domain'), bus: part('bus'), slot: part('slot'), function: part('function') };
  }
  if (type === 'drive') {
    return { type, controller: part('controller'), bus: part('bus'), target: part('target'), unit: part('unit') };
  }
  if (type === 'usb') {
    const port = attribute(element, 'port');
    if (port === null) return null;
    return { type, bus: part('bus'), ports: port.split('.').map(Number) };
  }
  return { type: 'other', name: type };
}
