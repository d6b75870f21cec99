/** Adds disks to a definition and removes them. The rest of the text stays byte for byte. */
import { DriverError } from '../../../driver-error.js';
import type { Disk } from './device.js';
import { sourceMarkup, type NewDiskSource } from './disk-source.js';
import { DefinitionEdit } from '../definition-edit.js';
import type { Domain } from '../domain.js';
import { child, childElements } from '../tree.js';

/** A disk to add. */
export interface NewDisk {
  /** Target, for example `vdb`. */
  readonly target: string;
  readonly bus: string;
  readonly format: 'qcow2' | 'raw';
  readonly source: NewDiskSource;
}

/** Returns the lines of a `<disk>`, for virDomainAttachDeviceFlags and {@link addDisk}. */
export function diskLines({ target, bus, format, source }: NewDisk): readonly string[] {
  return [
    `<disk type='${source.type}' device='disk'>`,
    `  <driver name='qemu' type='${format}'/>`,
    `  ${sourceMarkup(source)}`,
    `  <target dev='${target}' bus='${bus}'/>`,
    '</disk>',
  ];
}

/**
 * Adds lines after the last disk or drive, so that `<boot dev>` still means the same first disk.
 * @throws {DriverError} internal, if the definition has no `<devices>`.
 */
export function addDisk({ xml }: DefinitionEdit, lines: readonly string[]): void {
  const devices = child(xml.root, 'devices');
  if (devices === undefined) throw new DriverError('internal', 'adding a disk: the definition has no <devices>');
  xml.insert(devices, lines, childElements(devices, 'disk').at(-1) ?? child(devices, 'emulator') ?? null);
}

/** Removes a disk; changes nothing if there is no such disk. */
export function removeDisk({ domain, xml }: DefinitionEdit, target: string): void {
  const disk = findDisk(domain, target);
  if (disk !== undefined) xml.remove(disk.element);
}

/** Returns the markup of a disk for virDomainDetachDeviceFlags, or undefined. */
export function diskMarkup(xml: string, target: string): string | undefined {
  return markupOf(xml, (domain) => findDisk(domain, target));
}

/** Returns the markup of a disk or a drive, as {@link diskMarkup}. */
export function driveMarkup(xml: string, target: string): string | undefined {
  return markupOf(xml, ({ devices }) => devices.disks.find((disk) => disk.target === target));
}

function markupOf(xml: string, find: (domain: Domain) => Disk | undefined): string | undefined {
  const edit = new DefinitionEdit(xml);
  const disk = find(edit.domain);
  return disk === undefined ? undefined : edit.xml.markupOf(disk.element);
}

/** Returns a disk by its target, or undefined. CD and floppy drives are not disks. */
export function findDisk({ devices }: Domain, target: string): Disk | undefined {
  return devices.disks.find((disk) => disk.target === target && (disk.device === 'disk' || disk.device === 'lun'));
}
