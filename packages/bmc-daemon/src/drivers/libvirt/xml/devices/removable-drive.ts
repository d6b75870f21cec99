/** Finds the drives for virtual media, inserts images into a definition, and removes them. */
import { DriverError } from '../../../driver-error.js';
import type { MediaDevice } from '../../../snapshot/media-snapshot.js';
import type { DefinitionEdit } from '../definition-edit.js';
import { addCdrom, firstCdrom, newCdromMarkup, setDriveMedia } from './cdrom.js';
import type { Disk } from './device.js';
import { addDisk, removeDisk } from './disk.js';
import { sourceMarkup, type MediaSource } from './disk-source.js';
import { freeDiskTarget } from './disk-target.js';
import type { Domain } from '../domain.js';
import type { MediaRecord } from '../metadata/media-record.js';
import { attribute, child, childElements } from '../tree.js';
import type { XmlEdit } from '../xml-edit.js';

/**
 * Size of the largest floppy disk, 2.88 MB. QEMU would show the guest only the beginning of a
 * larger image.
 */
export const FLOPPY_BYTES = 2_949_120;

/** Returns whether a machine supports this device. Only PCs have floppy controllers. */
export function canHaveDrive({ os }: Domain, device: MediaDevice): boolean {
  return device !== 'floppy' || /^x86_64$|^i686$/.test(os.architecture);
}

/**
 * Returns the drive of a definition or a running machine; null if it has none.
 * @param record the inserted image. The daemon adds a USB stick only for an image. A USB disk that is not the one in
 *   the record belongs to the user, and is not returned.
 */
export function findDrive(domain: Domain, device: MediaDevice, record: MediaRecord | undefined): Disk | null {
  const { disks } = domain.devices;
  switch (device) {
    case 'cdrom':
      return firstCdrom(domain);
    case 'floppy':
      return disks.find((disk) => disk.device === 'floppy') ?? null;
    case 'usb':
      return disks.find((disk) => isStick(disk, record) && disk.target === record?.drive) ?? null;
  }
}

/** Returns whether a disk is the USB stick of the given record. */
export function isStick({ device, bus, source }: Disk, record: MediaRecord | undefined): boolean {
  return record !== undefined && device === 'disk' && bus === 'usb' && source.name === record.source;
}

/** A drive after the insertion of an image. */
export interface InsertedDrive {
  readonly target: string;
  /** Whether the drive was `<readonly/>` before. For a new drive: whether it is now. */
  readonly wasReadonly: boolean;
}

/** Options of {@link insertImage}. */
interface ImageOptions {
  /** True if the guest must not write to the image. CD drives are always read-only. */
  readonly readonly: boolean;
  /** Target of a USB stick, see {@link stickTarget}. */
  readonly stick: string;
}

/**
 * Inserts an image into a drive, and adds a drive if there is none. For `usb`, always adds a stick, and
 * enables USB.
 * @throws {DriverError} unsupported, if the machine cannot have the drive; noPlace, if the bus is full.
 */
export function insertImage(
  edit: DefinitionEdit,
  device: MediaDevice,
  media: MediaSource,
  { readonly, stick }: ImageOptions,
): InsertedDrive {
  if (device === 'usb') {
    addDisk(edit, stickLines(stick, media, readonly));
    enableUsb(edit.xml);
    return { target: stick, wasReadonly: readonly };
  }
  const { domain } = edit;
  const drive = findDrive(domain, device, undefined);
  if (drive !== null) {
    setDriveMedia(edit, drive.target, media, device === 'cdrom' ? {} : { readonly });
    return { target: drive.target, wasReadonly: drive.readonly };
  }
  if (device === 'cdrom') return { target: addCdrom(edit, media), wasReadonly: true };
  const target = floppyTarget(domain);
  addDisk(edit, driveLines('floppy', media, `<target dev='${target}' bus='fdc'/>`, readonly));
  return { target, wasReadonly: readonly };
}

/**
 * Removes the image of a drive, and does nothing if the drive is empty. Removes the drive too if it is a USB
 * stick. For a floppy drive with the recorded image, restores the `<readonly/>` that the drive had before.
 */
export function removeImage(edit: DefinitionEdit, device: MediaDevice, record: MediaRecord | undefined): void {
  const drive = findDrive(edit.domain, device, record);
  const name = drive?.source.name ?? null;
  if (drive === null || name === null) return;
  if (device === 'usb') {
    removeDisk(edit, drive.target);
    return;
  }
  const isOurs = device === 'floppy' && record?.source === name;
  setDriveMedia(edit, drive.target, null, isOurs ? { readonly: record.driveReadonly } : {});
}

/**
 * Returns a drive to plug into a running machine, and its target: a CD drive for `cdrom`, otherwise a USB
 * stick. For a floppy too, it returns a USB stick with a target of its own, because floppy drives do not
 * support hot-plug.
 * @param options `target`: the target of the drive in the definition.
 * @throws {DriverError} unsupported, if the machine has no bus for the drive; noPlace, if the bus is full.
 */
export function hotplugMarkup(
  running: Domain,
  device: MediaDevice,
  media: MediaSource,
  options: { readonly target: string; readonly readonly: boolean },
): { readonly target: string; readonly markup: string } {
  if (device === 'cdrom') return newCdromMarkup(running, 'hotplug', media, options.target);
  if (usbControllers(running).every(({ model }) => model === 'none')) {
    throw new DriverError('unsupported', `adding a USB stick to ${running.name}: it has no USB controller`);
  }
  const target = device === 'usb' ? options.target : freeDiskTarget([running], 'usb');
  return { target, markup: stickLines(target, media, options.readonly).join('\n') };
}

/** Returns the target of a new floppy drive. @throws {DriverError} unsupported, if the machine is not a PC. */
function floppyTarget(domain: Domain): string {
  if (!canHaveDrive(domain, 'floppy')) {
    throw new DriverError('unsupported', `adding a floppy drive to ${domain.name}: it is not a PC`);
  }
  return 'fda';
}

/** Returns the target of a new USB stick. @throws {DriverError} noPlace, if the bus is full. */
export function stickTarget(domains: readonly Domain[]): string {
  return freeDiskTarget(domains, 'usb');
}

/**
 * Enables USB in a machine that has it disabled: changes the model of its first USB controller from
 * `none` to `qemu-xhci`. Changes nothing in other machines.
 */
function enableUsb(xml: XmlEdit): void {
  const controllers = childElements(child(xml.root, 'devices'), 'controller').filter(
    (controller) => attribute(controller, 'type') === 'usb',
  );
  const [first] = controllers;
  if (first === undefined || controllers.some((controller) => attribute(controller, 'model') !== 'none')) return;
  xml.setAttribute(first, 'model', 'qemu-xhci');
}

function usbControllers({ devices }: Domain) {
  return devices.controllers.filter(({ type }) => type === 'usb');
}

function stickLines(target: string, media: MediaSource, readonly: boolean): readonly string[] {
  return driveLines('disk', media, `<target dev='${target}' bus='usb' removable='on'/>`, readonly);
}

function driveLines(device: string, media: MediaSource, target: string, readonly: boolean): readonly string[] {
  return [
    `<disk type='${media.type}' device='${device}'>`,
    `  <driver name='qemu' type='raw'/>`,
    `  ${sourceMarkup(media)}`,
    `  ${target}`,
    ...(readonly ? ['  <readonly/>'] : []),
    '</disk>',
  ];
}
