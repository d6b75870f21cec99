/** Disks that are added to a machine and taken from it, as text: what stands beside them stays byte for byte. */
import { DriverError } from '../../driver.js';
import type { Disk } from './device.js';
import { sourceMarkup, type DiskPlace } from './disk-source.js';
import { readDomain, type Domain } from './domain.js';
import { child, childElements, parseXml, type XmlDocument } from './parse.js';
import { applySplices, insertChild, removeElement, sourceOf, type Splice } from './splice.js';

/** A disk to be added. */
export interface NewDisk {
  /** `vdb`. */
  readonly target: string;
  readonly bus: string;
  readonly format: 'qcow2' | 'raw';
  readonly place: DiskPlace;
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

/** The definition with one more disk. */
export function withDisk(xml: string, disk: NewDisk): string {
  const document = parseXml(xml);
  return applySplices(xml, [addDisk(document, diskLines(disk))]);
}

/** Adds lines behind the last disk or drive: what `<boot dev>` counts first stays first. @throws {DriverError} internal. */
export function addDisk(document: XmlDocument, lines: readonly string[]): Splice {
  const devices = child(document.root, 'devices');
  if (devices === undefined) throw new DriverError('internal', 'adding a disk: the definition has no <devices>');
  const after = childElements(devices, 'disk').at(-1) ?? child(devices, 'emulator') ?? null;
  return insertChild(document, devices, [...lines], after);
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
