/** Disks that are added to a machine and taken from it, as text: what stands beside them stays byte for byte. */
import { DriverError } from '../../driver.js';
import type { Disk } from './device.js';
import { readDomain, type Domain } from './domain.js';
import { child, childElements, encodeAttribute, parseXml } from './parse.js';
import { applySplices, insertChild, removeElement, sourceOf } from './splice.js';

/** Where a disk's content is. */
export type DiskPlace =
  | { readonly type: 'file' | 'block'; readonly path: string }
  | { readonly type: 'volume'; readonly pool: string; readonly volume: string };

export interface NewDisk {
  /** `vdb`. */
  readonly target: string;
  readonly bus: string;
  readonly format: 'qcow2' | 'raw';
  readonly place: DiskPlace;
}

/** What names of disks begin with, by bus, and how many places a bus has; others can not be added to. */
const buses: Readonly<Record<string, { readonly prefix: string; readonly places: number }>> = {
  virtio: { prefix: 'vd', places: 26 },
  sata: { prefix: 'sd', places: 26 },
  scsi: { prefix: 'sd', places: 26 },
  usb: { prefix: 'sd', places: 26 },
  ide: { prefix: 'hd', places: 4 },
};

/**
 * The first name for a disk on a bus that no disk has, and whose place on the bus, which libvirt derives from the name, is free.
 * @param domains the definition, and the running machine where it runs.
 * @throws {DriverError} unsupported, where there is no such bus or no place on it.
 */
export function freeDiskTarget(domains: readonly Domain[], bus: string): string {
  const kind = buses[bus];
  const disks = domains.flatMap(({ devices }) => devices.disks);
  const names = new Set(disks.map(({ target }) => target));
  const places = new Set(disks.flatMap((disk) => (disk.bus === bus ? placeOf(disk) : [])));
  for (let index = 0; index < (kind?.places ?? 0); index += 1) {
    const name = `${kind?.prefix ?? ''}${String.fromCharCode('a'.charCodeAt(0) + index)}`;
    if (!names.has(name) && !places.has(derivedPlace(bus, index))) return name;
  }
  throw new DriverError('unsupported', `adding a disk to ${domains[0]?.name ?? 'the machine'}: no place on bus ${bus}`);
}

/** A `<disk>`, a line for each element: for virDomainAttachDeviceFlags and {@link withDisk}. */
export function diskLines({ target, bus, format, place }: NewDisk): readonly string[] {
  return [
    `<disk type='${place.type}' device='disk'>`,
    `  <driver name='qemu' type='${format}'/>`,
    `  ${sourceMarkup(place)}`,
    `  <target dev='${target}' bus='${bus}'/>`,
    '</disk>',
  ];
}

/** The definition with one more disk, behind the last: `<boot dev='hd'>` goes on to mean the first. */
export function withDisk(xml: string, disk: NewDisk): string {
  const document = parseXml(xml);
  const devices = child(document.root, 'devices');
  if (devices === undefined) throw new DriverError('internal', 'adding a disk: the definition has no <devices>');
  const after = childElements(devices, 'disk').at(-1) ?? child(devices, 'emulator') ?? null;
  return applySplices(xml, [insertChild(document, devices, diskLines(disk), after)]);
}

/** The definition without a disk; as it was where there is none. */
export function withoutDisk(xml: string, target: string): string {
  const document = parseXml(xml);
  const disk = findDisk(readDomain(document), target);
  return disk === undefined ? xml : applySplices(xml, [removeElement(document, disk.element)]);
}

/** A disk's own markup: the argument of virDomainDetachDeviceFlags. Undefined where there is none. */
export function diskMarkup(xml: string, target: string): string | undefined {
  const document = parseXml(xml);
  const disk = findDisk(readDomain(document), target);
  return disk === undefined ? undefined : sourceOf(document, disk.element);
}

/** A disk by its name; drives with removable media are none. */
export function findDisk({ devices }: Domain, target: string): Disk | undefined {
  return devices.disks.find((disk) => disk.target === target && (disk.device === 'disk' || disk.device === 'lun'));
}

function sourceMarkup(place: DiskPlace): string {
  if (place.type === 'volume') {
    return `<source pool='${encodeAttribute(place.pool)}' volume='${encodeAttribute(place.volume)}'/>`;
  }
  return `<source ${place.type === 'file' ? 'file' : 'dev'}='${encodeAttribute(place.path)}'/>`;
}

function placeOf({ address }: Disk): readonly string[] {
  return address?.type === 'drive' ? [[address.controller, address.bus, address.target, address.unit].join('/')] : [];
}

/** Controller, bus, target and unit, as virDomainDiskDefAssignAddress counts them; VirtIO and USB have no such places. */
function derivedPlace(bus: string, index: number): string {
  if (bus === 'ide') return [0, Math.floor(index / 2), 0, index % 2].join('/');
  if (bus === 'sata') return [Math.floor(index / 6), 0, 0, index % 6].join('/');
  if (bus !== 'scsi') return '';
  // 15 a bus: unit 7 is the controller's own.
  const unit = index % 15;
  return [Math.floor(index / 15), 0, 0, unit < 7 ? unit : unit + 1].join('/');
}
