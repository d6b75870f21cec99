/**
 * Edits CD and floppy drives: their media and their write protection. Adds a CD drive to a machine
 * without one. Does not change anything else of a drive (address, alias, boot order, serial, cache
 * mode, additions of the user).
 */
import { DriverError } from '../../../driver-error.js';
import type { Disk } from './device.js';
import { addDisk } from './disk.js';
import { sourceMarkup, type MediaSource } from './disk-source.js';
import { freeDiskTarget } from './disk-target.js';
import { DefinitionEdit } from '../definition-edit.js';
import type { Domain } from '../domain.js';
import { attribute, child, childElements, type XmlElement } from '../tree.js';
import type { XmlEdit } from '../xml-edit.js';

/**
 * How a new drive is added. `coldplug`: to the definition, for the next start. `hotplug`: to the
 * running machine.
 */
type PlugMode = 'coldplug' | 'hotplug';

/** Children of `<disk>` that describe the old medium: its chain, a running copy, how to open it. */
const MEDIUM_CHILDREN = ['backingStore', 'mirror', 'auth', 'encryption'];

/**
 * Returns the CD drive for virtual media: the first one of the machine that is not on USB; null if it has
 * none.
 *
 * If there is only a CD drive on USB, returns it for a running machine, where it may be the hot-plugged
 * drive. Returns null for a definition. QEMU cannot start with an empty USB drive ("usb-storage … drive
 * property not set"), so a definition must not contain one.
 */
export function firstCdrom(domain: Domain): Disk | null {
  const drives = domain.devices.disks.filter((disk) => disk.device === 'cdrom');
  const builtIn = drives.find((disk) => disk.bus !== 'usb');
  return builtIn ?? (domain.id === null ? null : (drives[0] ?? null));
}

/**
 * Returns whether a drive of the running machine was hot-plugged: the definition has no drive with this
 * target and bus. The medium of a hot-plugged drive cannot be removed: libvirt 9 does not see that this drive
 * has a tray ("Tray of device … is not open"). So an eject unplugs the drive.
 */
export function isHotplugged(drive: Disk, defined: Domain): boolean {
  return !defined.devices.disks.some((disk) => disk.key === drive.key && disk.bus === drive.bus);
}

/**
 * Returns the `<disk>` element with another medium, for virDomainUpdateDeviceFlags. The element
 * must come from LIVE XML, because libvirt compares it with the running device.
 * @param target the target of the drive, `sda`.
 * @param media null: an empty drive.
 * @throws {DriverError} notFound, if the machine has no such drive.
 */
export function changedDriveMarkup(live: string, target: string, media: MediaSource | null): string {
  const edit = new DefinitionEdit(live);
  const drive = findDriveElement(edit, target);
  setMedia(edit.xml, drive, media);
  return edit.xml.markupOf(drive);
}

/**
 * Sets the medium of a drive. Parameters and error as {@link changedDriveMarkup}.
 * @param protection whether the drive becomes `<readonly/>`; absent: unchanged. The drive of a running guest
 *   keeps its protection until the next start.
 */
export function setDriveMedia(
  edit: DefinitionEdit,
  target: string,
  media: MediaSource | null,
  protection: { readonly readonly?: boolean } = {},
): void {
  const drive = findDriveElement(edit, target);
  setMedia(edit.xml, drive, media);
  setProtection(edit.xml, drive, protection.readonly);
}

/**
 * Returns the markup of a new drive for virDomainAttachDeviceFlags or {@link addCdrom}. The bus depends on
 * the machine type: SATA on q35, IDE on i440fx, SCSI elsewhere. If the four IDE places of i440fx are in use,
 * the bus is SCSI, too. Of these buses, only SCSI supports hot-plug. So a hot-plugged drive is on USB, or on
 * SCSI if the machine has no USB.
 * @param wantedTarget the target of the drive. A hot-plugged drive gets the target of the drive that the
 *   definition adds for the next start. Absent: a free one.
 * @throws {DriverError} unsupported, if the machine has no bus for the drive; noPlace, if the bus is full.
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
 * Adds a new drive after the last disk.
 * @returns its target.
 * @throws {DriverError} as {@link newCdromMarkup}.
 */
export function addCdrom(edit: DefinitionEdit, media: MediaSource | null): string {
  const { domain } = edit;
  const { target, markup } = newCdromMarkup(domain, 'coldplug', media);
  // By default libvirt 9 adds an LSI controller, even on aarch64, where firmware and kernels have no driver
  // for it. So this adds a VirtIO SCSI controller.
  const needsController =
    coldplugBus(domain) === 'scsi' && !domain.devices.controllers.some(({ type }) => type === 'scsi');
  const controller = needsController ? [`<controller type='scsi' index='0' model='virtio-scsi'/>`] : [];
  addDisk(edit, [...markup.split('\n'), ...controller]);
  return target;
}

function findDriveElement({ domain }: DefinitionEdit, target: string): XmlElement {
  const drive = domain.devices.disks.find(
    ({ device, target: name }) => name === target && (device === 'cdrom' || device === 'floppy'),
  );
  if (drive === undefined) {
    throw new DriverError('notFound', `changing the media of ${domain.name}: it has no drive ${target}`);
  }
  return drive.element;
}

function setMedia(xml: XmlEdit, drive: XmlElement, media: MediaSource | null): void {
  const [source, driver, target] = [child(drive, 'source'), child(drive, 'driver'), child(drive, 'target')];
  // libvirt rejects an empty drive of type network or volume, so an empty drive has the type file.
  const type = media?.type ?? 'file';
  if (attribute(drive, 'type') !== type) xml.setAttribute(drive, 'type', type);
  for (const old of MEDIUM_CHILDREN.flatMap((name) => childElements(drive, name))) xml.remove(old);
  if (media === null) {
    if (source !== undefined) xml.remove(source);
    return;
  }
  // ISO images are raw, independent of the format of the old medium.
  if (driver !== undefined && (attribute(driver, 'type') ?? 'raw') !== 'raw') xml.setAttribute(driver, 'type', 'raw');
  // The guest leaves the tray open when it ejects. A new medium closes it.
  if (target !== undefined && attribute(target, 'tray') === 'open') xml.removeAttribute(target, 'tray');
  if (source === undefined) xml.insert(drive, sourceMarkup(media), driver ?? null);
  else xml.replace(source, sourceMarkup(media));
}

function setProtection(xml: XmlEdit, drive: XmlElement, wanted: boolean | undefined): void {
  const existing = child(drive, 'readonly');
  if (wanted === undefined || wanted === (existing !== undefined)) return;
  if (existing !== undefined) xml.remove(existing);
  else xml.insert(drive, '<readonly/>', child(drive, 'target') ?? null);
}

type CdromBus = 'sata' | 'ide' | 'scsi' | 'usb';

function coldplugBus({ os, devices }: Domain): CdromBus {
  if (/^x86_64$|^i686$/.test(os.architecture)) {
    if (os.machineType.includes('q35')) return 'sata';
    // i440fx has four places for IDE drives.
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
