/**
 * Reads the `<address>` of a device: its controller and its place there.
 * @see https://libvirt.org/formatdomain.html#device-addresses
 */
import { attribute, child, type XmlElement } from '../tree.js';

/** An address by its type, with the parts that the daemon uses. */
export type DeviceAddress =
  | {
      readonly type: 'pci';
      readonly domain: number;
      /** Index of the PCI controller. The guest may number its buses differently. */
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
      /** Port numbers from the root hub down. */
      readonly ports: readonly number[];
    }
  /** `ccw`, `virtio-mmio`, `isa`, `spapr-vio`, …: the daemon does not use their parts. */
  | { readonly type: 'other'; readonly name: string };

/**
 * Reads a device's address; null if libvirt has not assigned one, for example before the first define. For a
 * USB device, also null if there is a bus but no port.
 */
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
