/** Which of a machine's devices virtual media goes into, and the definition with an image in it or without. */
import { DriverError } from '../../driver.js';
import type { MediaDevice } from '../../media-snapshot.js';
import { firstCdrom, newCdromMarkup, withCdrom, withDriveMedia } from './cdrom.js';
import type { Disk } from './device.js';
import { addDisk, withoutDisk } from './disk.js';
import { sourceMarkup, type MediaSource } from './disk-source.js';
import { freeDiskTarget } from './disk-target.js';
import { readDomain, type Domain } from './domain.js';
import type { MediaRecord } from './media-record.js';
import { attribute, child, childElements, parseXml, type XmlDocument } from './parse.js';
import { applySplices, setAttribute, type Splice } from './splice.js';

/** A 2.88 MB floppy disk, the largest that there is; QEMU would show the guest the beginning of a larger image. */
export const FLOPPY_BYTES = 2_949_120;

/** Whether a machine can have such a drive: floppy controllers are a matter of PCs. */
export function canHaveDrive({ os }: Domain, device: MediaDevice): boolean {
  return device !== 'floppy' || /^x86_64$|^i686$/.test(os.architecture);
}

/**
 * The drive of a definition or a running machine; null where it has none.
 * @param record what was put into it. A USB stick is there only with its image, and all others are the user's own disks.
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

/** Whether it is a USB stick of ours, with what a record says that was put into a drive. */
export function isStick({ device, bus, source }: Disk, record: MediaRecord | undefined): boolean {
  return record !== undefined && device === 'disk' && bus === 'usb' && source.name === record.source;
}

/** A definition with an image in one of its drives. */
export interface InsertedDrive {
  readonly target: string;
  readonly xml: string;
  /** Whether the drive was `<readonly/>` before. */
  readonly wasReadonly: boolean;
}

/** How an image goes into a drive. */
export interface ImageOptions {
  /** Whether the guest is kept from writing to it. CD drives are read-only by their nature. */
  readonly readonly: boolean;
  /** Name of a USB stick, see {@link stickTarget}. */
  readonly stick: string;
}

/**
 * The definition with an image in a drive, which is added where there is none.
 * @throws {DriverError} unsupported, where there is no place for a drive.
 */
export function withImage(xml: string, device: MediaDevice, media: MediaSource, options: ImageOptions): InsertedDrive {
  const document = parseXml(xml);
  const domain = readDomain(document);
  const { readonly } = options;
  if (device === 'usb') {
    const splices = [addDisk(document, stickLines(options.stick, media, readonly)), ...enableUsb(document)];
    return { target: options.stick, xml: applySplices(xml, splices), wasReadonly: readonly };
  }
  const drive = findDrive(domain, device, undefined);
  if (drive !== null) {
    const protection = device === 'cdrom' ? {} : { readonly };
    return {
      target: drive.target,
      xml: withDriveMedia(xml, drive.target, media, protection),
      wasReadonly: drive.readonly,
    };
  }
  if (device === 'cdrom') return { ...withCdrom(xml, media), wasReadonly: true };
  const target = floppyTarget(domain);
  const lines = driveLines('floppy', media, `<target dev='${target}' bus='fdc'/>`, readonly);
  return { target, xml: applySplices(xml, [addDisk(document, lines)]), wasReadonly: readonly };
}

/** The definition without what was put into a drive: the drive stays, empty, but for a USB stick. */
export function withoutImage(xml: string, device: MediaDevice, record: MediaRecord | undefined): string {
  const drive = findDrive(readDomain(xml), device, record);
  const name = drive?.source.name ?? null;
  if (drive === null || name === null) return xml;
  if (device === 'usb') return withoutDisk(xml, drive.target);
  const isOurs = device === 'floppy' && record?.source === name;
  return withDriveMedia(xml, drive.target, null, isOurs ? { readonly: record.driveReadonly } : {});
}

/**
 * What to plug into a running machine whose drive of this kind is not there: a CD drive, or a USB stick in the place of a floppy
 * drive, which can not be plugged in.
 * @param target name of the drive in the definition.
 * @throws {DriverError} unsupported, where the machine has no bus to plug it into.
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

/** Name of a floppy drive that a machine without one would get. @throws {DriverError} unsupported. */
function floppyTarget(domain: Domain): string {
  if (!canHaveDrive(domain, 'floppy')) {
    throw new DriverError('unsupported', `adding a floppy drive to ${domain.name}: it is no PC`);
  }
  return 'fda';
}

/** Name for the next USB stick of a definition and its running machine. @throws {DriverError} unsupported. */
export function stickTarget(domains: readonly Domain[]): string {
  return freeDiskTarget(domains, 'usb');
}

/** A machine whose USB was switched off gets a controller in the place of that word. */
function enableUsb(document: XmlDocument): readonly Splice[] {
  const controllers = childElements(child(document.root, 'devices'), 'controller').filter(
    (controller) => attribute(controller, 'type') === 'usb',
  );
  const [first] = controllers;
  if (first === undefined || controllers.some((controller) => attribute(controller, 'model') !== 'none')) return [];
  return [setAttribute(document, first, 'model', 'qemu-xhci')];
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
