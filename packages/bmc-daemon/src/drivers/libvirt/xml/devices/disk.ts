/** Adds disks to a definition and removes them. The rest of the text stays byte for byte. */
import { DriverError } from '../../../driver-error.js';
import type { Disk } from './device.js';
import { sourceMarkup, type DiskPlace } from './disk-source.js';
import { readDomain, type Domain } from '../domain.js';
import { parseXml, type XmlDocument } from '../parse.js';
import { child, childElements } from '../tree.js';
import { applySplices, insertChild, removeElement, sourceOf, type Splice } from '../splice.js';

/** A disk to add. */
export interface NewDisk {
  /** Target, for example `vdb`. */
  readonly target: string;
  readonly bus: string;
  readonly format: 'qcow2' | 'raw';
  readonly place: DiskPlace;
}

/** Returns a `<disk>` by lines, for virDomainAttachDeviceFlags and {@link withDisk}. */
export function diskLines({ target, bus, format, place }: NewDisk): readonly string[] {
  return [
    `<disk type='${place.type}' device='disk'>`,
    `  <driver name='qemu' type='${format}'/>`,
    `  ${sourceMarkup(place)}`,
    `  <target dev='${target}' bus='${bus}'/>`,
    '</disk>',
  ];
}

/** Returns the definition with one more disk. */
export function withDisk(xml: string, disk: NewDisk): string {
  const document = parseXml(xml);
  return applySplices(xml, [addDisk(document, diskLines(disk))]);
}

/**
 * Adds lines after the last disk or drive, so that `<boot dev>` still means the same first disk.
 * @throws {DriverError} internal.
 */
export function addDisk(document: XmlDocument, lines: readonly string[]): Splice {
  const devices = child(document.root, 'devices');
  if (devices === undefined) throw new DriverError('internal', 'adding a disk: the definition has no <devices>');
  const after = childElements(devices, 'disk').at(-1) ?? child(devices, 'emulator') ?? null;
  return insertChild(document, devices, [...lines], after);
}

/** Returns the definition without a disk; the same text if there is no such disk. */
export function withoutDisk(xml: string, target: string): string {
  const document = parseXml(xml);
  const disk = findDisk(readDomain(document), target);
  return disk === undefined ? xml : applySplices(xml, [removeElement(document, disk.element)]);
}

/** Returns the markup of a disk for virDomainDetachDeviceFlags, or undefined. */
export function diskMarkup(xml: string, target: string): string | undefined {
  const document = parseXml(xml);
  const disk = findDisk(readDomain(document), target);
  return disk === undefined ? undefined : sourceOf(document, disk.element);
}

/** Returns a disk by its target, or undefined. Drives with removable media are not disks. */
export function findDisk({ devices }: Domain, target: string): Disk | undefined {
  return devices.disks.find((disk) => disk.target === target && (disk.device === 'disk' || disk.device === 'lun'));
}
