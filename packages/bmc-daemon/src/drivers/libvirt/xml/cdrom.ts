/**
 * Edits of a machine's CD and floppy drives: what is in them, and a CD drive for a machine that has none. Everything else about a
 * drive (address, alias, boot order, serial, cache mode, a user's own additions) stays.
 */
import { DriverError } from '../../driver.js';
import type { Disk } from './device.js';
import { addDisk } from './disk.js';
import { sourceMarkup, type MediaSource } from './disk-source.js';
import { freeDiskTarget } from './disk-target.js';
import { readDomain } from './domain.js';
import type { Domain } from './domain.js';
import { attribute, child, childElements, parseXml } from './parse.js';
import type { XmlDocument, XmlElement } from './parse.js';
import {
  applySplices,
  insertChild,
  removeAttribute,
  removeElement,
  replaceElement,
  setAttribute,
  sourceOf,
} from './splice.js';
import type { Splice } from './splice.js';

/** A drive to add. `coldplug`: to the definition, for the next start. `hotplug`: to the running machine. */
export type PlugMode = 'coldplug' | 'hotplug';

/** Children of `<disk>` that describe the old medium: its chain, a copy in progress, how it is opened. */
const OF_THE_MEDIUM = ['backingStore', 'mirror', 'auth', 'encryption'];

/**
 * The drive that virtual media goes into: the machine's own first one; null where it has none.
 *
 * One on USB counts on a running machine only (there it may be the one that was hot-plugged): libvirt gives QEMU no way to start
 * with an empty one ("usb-storage … drive property not set"), so a definition must never be left with it empty.
 */
export function firstCdrom(domain: Domain): Disk | null {
  const drives = domain.devices.disks.filter((disk) => disk.device === 'cdrom');
  const builtIn = drives.find((disk) => disk.bus !== 'usb');
  return builtIn ?? (domain.id === null ? null : (drives[0] ?? null));
}

/**
 * Whether a drive of the running machine is not the one that its definition has under that name. It was hot-plugged, then, and
 * its medium can not be taken out: libvirt 9 never learns that such a drive has a tray ("Tray of device … is not open"). Its
 * eject is to unplug it.
 */
export function isHotplugged(drive: Disk, defined: Domain): boolean {
  return !defined.devices.disks.some((disk) => disk.key === drive.key && disk.bus === drive.bus);
}

/**
 * The `<disk>` with other media in it, alone: the argument of virDomainUpdateDeviceFlags. Made from LIVE XML, whatever libvirt
 * compares with the running device is as it is there.
 * @param target the drive's target name, `sda`.
 * @param media null: an empty drive.
 * @throws {DriverError} notFound, where the machine has no such drive.
 */
export function driveMarkup(xml: string, target: string, media: MediaSource | null): string {
  const document = parseXml(xml);
  const drive = driveState(document, target);
  const splices = changeMedia(document, drive, media).map((splice) => ({
    ...splice,
    start: splice.start - drive.start,
    end: splice.end - drive.start,
  }));
  return applySplices(sourceOf(document, drive), splices);
}

/**
 * The definition with other media in a drive; arguments and error as {@link driveMarkup}.
 * @param protection whether the drive is to be `<readonly/>`; absent: as it is. A running guest's drive stays what it is.
 */
export function withDriveMedia(
  xml: string,
  target: string,
  media: MediaSource | null,
  protection: { readonly readonly?: boolean } = {},
): string {
  const document = parseXml(xml);
  const drive = driveState(document, target);
  return applySplices(xml, [
    ...changeMedia(document, drive, media),
    ...changeProtection(document, drive, protection.readonly),
  ]);
}

/**
 * A new drive, as markup for virDomainAttachDeviceFlags or {@link withCdrom}, on the bus that suits the machine: SATA on q35, IDE
 * on i440fx, SCSI elsewhere. Of those only SCSI can be plugged into a running machine, so a hot-plugged one is on USB.
 * @param target the name to give it: one that is hot-plugged is to have the name of its cold-plugged successor.
 * @throws {DriverError} unsupported, where the machine has no bus to plug it into.
 */
export function newCdromMarkup(
  domain: Domain,
  mode: PlugMode,
  media: MediaSource | null,
  wantedTarget?: string,
): { readonly target: string; readonly markup: string } {
  const bus = mode === 'hotplug' ? hotplugBus(domain) : coldplugBus(domain);
  const target = wantedTarget ?? (bus === null ? null : freeDiskTarget([domain], bus));
  if (bus === null || target === null) {
    throw new DriverError('unsupported', `adding a cd drive to ${domain.name}: it has no bus to plug it into`);
  }
  const markup = [
    `<disk type='${media?.type ?? 'file'}' device='cdrom'>`,
    `  <driver name='qemu' type='raw'/>`,
    ...(media === null ? [] : [`  ${sourceMarkup(media)}`]),
    `  <target dev='${target}' bus='${bus}'/>`,
    '  <readonly/>',
    '</disk>',
  ].join('\n');
  return { target, markup };
}

/**
 * The definition with an additional, cold-plugged drive behind its last disk.
 * @throws {DriverError} unsupported, as {@link newCdromMarkup}.
 */
export function withCdrom(xml: string, media: MediaSource | null): { readonly target: string; readonly xml: string } {
  const document = parseXml(xml);
  const domain = readDomain(document);
  const { target, markup } = newCdromMarkup(domain, 'coldplug', media);
  // Left to itself libvirt 9 adds an LSI controller, on aarch64 too, where firmware and kernels have no driver for it.
  const needsController =
    coldplugBus(domain) === 'scsi' && !domain.devices.controllers.some(({ type }) => type === 'scsi');
  const controller = needsController ? [`<controller type='scsi' index='0' model='virtio-scsi'/>`] : [];
  return { target, xml: applySplices(xml, [addDisk(document, [...markup.split('\n'), ...controller])]) };
}

function driveState(document: XmlDocument, target: string): XmlElement {
  const domain = readDomain(document);
  const drive = domain.devices.disks.find(
    ({ device, target: name }) => name === target && (device === 'cdrom' || device === 'floppy'),
  );
  if (drive === undefined) {
    throw new DriverError('notFound', `changing the media of ${domain.name}: it has no drive ${target}`);
  }
  return drive.element;
}

function changeMedia(document: XmlDocument, drive: XmlElement, media: MediaSource | null): readonly Splice[] {
  const source = child(drive, 'source');
  const driver = child(drive, 'driver');
  const target = child(drive, 'target');
  // An empty drive of type network or volume is refused: there is nothing that it could be empty of.
  const type = media?.type ?? 'file';
  const format = attribute(driver, 'type');
  return [
    ...(attribute(drive, 'type') === type ? [] : [setAttribute(document, drive, 'type', type)]),
    ...OF_THE_MEDIUM.flatMap((name) => childElements(drive, name)).map((old) => removeElement(document, old)),
    // ISO images are raw, whatever the drive held before.
    ...(media !== null && driver !== undefined && format !== null && format !== 'raw'
      ? [setAttribute(document, driver, 'type', 'raw')]
      : []),
    // An open tray is how the guest left it when it ejected; a medium goes in and the tray closes.
    ...(media !== null && target !== undefined && attribute(target, 'tray') === 'open'
      ? removeAttribute(document, target, 'tray')
      : []),
    ...changeSource(document, drive, source, driver, media),
  ];
}

function changeProtection(document: XmlDocument, drive: XmlElement, wanted: boolean | undefined): readonly Splice[] {
  const present = child(drive, 'readonly');
  if (wanted === undefined || wanted === (present !== undefined)) return [];
  if (present !== undefined) return [removeElement(document, present)];
  return [insertChild(document, drive, '<readonly/>', child(drive, 'target') ?? null)];
}

function changeSource(
  document: XmlDocument,
  drive: XmlElement,
  source: XmlElement | undefined,
  driver: XmlElement | undefined,
  media: MediaSource | null,
): readonly Splice[] {
  if (media === null) return source === undefined ? [] : [removeElement(document, source)];
  const markup = sourceMarkup(media);
  if (source !== undefined) return [replaceElement(source, markup)];
  return [insertChild(document, drive, markup, driver ?? null)];
}

type CdromBus = 'sata' | 'ide' | 'scsi' | 'usb';

function coldplugBus({ os, devices }: Domain): CdromBus {
  if (/^x86_64$|^i686$/.test(os.architecture)) {
    if (os.machineType.includes('q35')) return 'sata';
    // i440fx has room for four IDE drives and not for a fifth.
    if (/^pc(-|$)|i440fx/.test(os.machineType)) {
      return devices.disks.filter((disk) => disk.bus === 'ide').length < 4 ? 'ide' : 'scsi';
    }
  }
  return 'scsi';
}

function hotplugBus({ devices }: Domain): CdromBus | null {
  const usable = (type: string): boolean =>
    devices.controllers.some((controller) => controller.type === type && controller.model !== 'none');
  if (usable('usb')) return 'usb';
  return usable('scsi') ? 'scsi' : null;
}
