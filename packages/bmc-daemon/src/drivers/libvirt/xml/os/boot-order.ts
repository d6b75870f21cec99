/**
 * Reads and edits the boot order of a machine. An override can be reverted exactly.
 *
 * libvirt has two forms, `<os><boot dev>` by device kind and `<boot order>` per device, and rejects
 * a mix. An override always uses the second form, because only it can put a device before another
 * device of the same kind.
 */
import { DriverError } from '../../../driver-error.js';
import type { BootChoice } from '../../../rules/boot-override.js';
import type { BootDevice, DeviceKey } from '../../../snapshot/firmware-snapshot.js';
import type { BootableDevice, Devices } from '../devices/device.js';
import type { Domain } from '../domain.js';
import { readDomain } from '../domain.js';
import { parseXml, type XmlDocument } from '../parse.js';
import { attributeNode, child, childElements, type XmlElement } from '../tree.js';
import { applySplices, insertChild, removeElement, spaceBefore } from '../splice.js';
import type { Splice } from '../splice.js';

/** One step of a boot order: a device and its kind. */
export interface BootStep {
  readonly kind: BootDevice;
  readonly device: BootableDevice;
}

/**
 * The boot order that an override replaced, so that it can be restored byte for byte. Serializable;
 * see `metadata.ts`.
 * - `os`: the `<boot dev>` elements. Each has the white space before it and the number of preceding
 *   siblings that are not `<boot>`.
 * - `devices`: each former `<boot order>` by device key, with the number as written.
 */
export interface SavedBootOrder {
  readonly os: readonly { readonly at: number; readonly markup: string }[];
  readonly devices: readonly { readonly key: string; readonly order: string }[];
}

/** The boot number of one device for QEMU; -1: the device is not in the order. */
export interface BootIndex {
  readonly key: string;
  readonly alias: string;
  /** Path for `qom-set` and `qom-get`. QEMU's id of the device is libvirt's alias. */
  readonly qomPath: string;
  /** For a floppy drive: its unit on the controller, which has the boot number. */
  readonly floppyUnit?: number;
  /**
   * A CD drive on USB. libvirt 12 creates two devices for it, and the second one, `<alias>-device`,
   * has the boot number.
   */
  readonly isUsbCdrom?: true;
  readonly bootIndex: number;
}

const DEVICE_OF_BOOT_DEV: Readonly<Record<string, BootDevice>> = {
  hd: 'hd',
  cdrom: 'cdrom',
  network: 'network',
  fd: 'fd',
};

/** Returns devices that can have a `<boot order>`, in the order of the XML. */
export function bootableDevices(devices: Devices): readonly BootableDevice[] {
  return [...devices.disks, ...devices.interfaces, ...devices.hostDevices].sort(
    (a, b) => a.element.start - b.element.start,
  );
}

/** Returns the kind of a boot device; null for a passed-through device. */
export function bootKind(device: BootableDevice): BootDevice | null {
  if (device.kind === 'interface') return 'network';
  if (device.kind !== 'disk') return null;
  if (device.device === 'cdrom') return 'cdrom';
  if (device.device === 'floppy') return 'fd';
  return device.bus === 'usb' ? 'usb' : 'hd';
}

/** Returns the device kinds of the machine: `network`, `cdrom`, `hd` first. */
export function availableBootDevices(devices: Devices): readonly BootDevice[] {
  const kinds = new Set(bootableDevices(devices).map(bootKind));
  // In libvirt, `hd` is any disk, also on a USB bus.
  const has = (kind: BootDevice): boolean => kinds.has(kind) || (kind === 'hd' && kinds.has('usb'));
  return (['network', 'cdrom', 'hd', 'fd', 'usb'] as const).filter(has);
}

/**
 * Returns the boot order of the machine: by `<boot order>` if any device has it, else by `<os><boot
 * dev>`, which means the first device of each kind (qemuProcessPrepareDeviceBootorder). Without
 * both, libvirt boots the first disk.
 */
export function effectiveBootOrder(domain: Domain): readonly BootStep[] {
  const devices = bootableDevices(domain.devices);
  const ordered = devices
    .filter((device) => device.bootOrder !== null)
    .sort((a, b) => (a.bootOrder ?? 0) - (b.bootOrder ?? 0));
  if (ordered.length > 0) return ordered.map((device) => ({ kind: bootKind(device) ?? 'hd', device }));
  const wanted = domain.os.bootDevices.length > 0 ? domain.os.bootDevices : ['hd'];
  return wanted.flatMap((name) => {
    const kind = DEVICE_OF_BOOT_DEV[name];
    const device = devices.find((candidate) => isOfKind(candidate, kind));
    return kind === undefined || device === undefined ? [] : [{ kind, device }];
  });
}

/**
 * Returns the first boot device without an override: the first `<boot dev>` if the machine has no
 * such device.
 */
export function firstBootDevice(domain: Domain): BootDevice {
  const first = effectiveBootOrder(domain)[0]?.kind ?? DEVICE_OF_BOOT_DEV[domain.os.bootDevices[0] ?? 'hd'];
  return first ?? 'hd';
}

/** Returns whether the machine has a chosen boot device. */
export function hasChoice(devices: Devices, choice: BootChoice): boolean {
  return bootableDevices(devices).some((device) => isChosen(device, choice));
}

/**
 * Returns the order with the devices of one kind, or one device, at the front. Within the kind,
 * devices in the order come first. The rest is unchanged.
 */
export function orderWithFirst(domain: Domain, target: BootChoice): readonly BootStep[] {
  const order = effectiveBootOrder(domain);
  const all = bootableDevices(domain.devices).filter((device) => isChosen(device, target));
  const known = order.filter((step) => all.includes(step.device));
  // A USB disk boots as `hd` only after the built-in disks.
  const others = all
    .filter((device) => !known.some((step) => step.device === device))
    .sort((a, b) => Number(bootKind(a) !== target) - Number(bootKind(b) !== target));
  return [
    ...known,
    ...others.map((device) => ({ kind: isKey(target) ? (bootKind(device) ?? 'hd') : target, device })),
    ...order.filter((step) => !all.includes(step.device)),
  ];
}

/**
 * Returns boot numbers for QEMU from LIVE XML, which has the aliases: ascending along `keys`, -1
 * for every other bootable device.
 * @param keys device keys in boot order, `deviceKeys(effectiveBootOrder(domain))`.
 */
export function bootIndexes(liveDomain: Domain, keys: readonly string[]): readonly BootIndex[] {
  const devices = bootableDevices(liveDomain.devices);
  const present = keys.filter((candidate) => devices.some(({ key }) => key === candidate));
  return devices.flatMap((device) => {
    const { key, alias, address } = device;
    if (alias === null) return [];
    const place = present.indexOf(key);
    const unit = address?.type === 'drive' ? address.unit : 0;
    return [
      {
        key,
        alias,
        qomPath: `/machine/peripheral/${alias}`,
        ...(bootKind(device) === 'fd' ? { floppyUnit: unit } : {}),
        ...(isUsbCdrom(device) ? { isUsbCdrom: true as const } : {}),
        bootIndex: place === -1 ? -1 : place + 1,
      },
    ];
  });
}

function isUsbCdrom(device: BootableDevice): boolean {
  return device.kind === 'disk' && device.bus === 'usb' && device.device === 'cdrom';
}

/** Returns the device keys of an order, for {@link bootIndexes}. */
export function deviceKeys(order: readonly BootStep[]): readonly DeviceKey[] {
  return order.map(({ device }) => device.key);
}

/**
 * Returns the definition with the devices of one kind, or one device, at the front, by `<boot
 * order>` per device.
 * @param saved the order that an earlier override replaced. The new override starts from that
 *   order.
 * @returns the definition, and `saved` for {@link restoreBootOrder}.
 * @throws {DriverError} invalid, if the machine has no such device.
 */
export function withBootOrder(
  xml: string,
  target: BootChoice,
  saved?: SavedBootOrder,
): { readonly xml: string; readonly saved: SavedBootOrder } {
  const original = saved === undefined ? xml : restoreBootOrder(xml, saved);
  const document = parseXml(original);
  const domain = readDomain(document);
  const order = orderWithFirst(domain, target);
  if (!order.some(({ device }) => isChosen(device, target))) {
    throw new DriverError('invalid', `setting the boot order of ${domain.name}: it has no ${target} device`, {
      field: 'bootTarget',
    });
  }
  const devices = order.map(({ device }) => device);
  return { xml: applySplices(original, putInOrder(document, devices)), saved: saveBootOrder(document, domain) };
}

/**
 * Returns the definition with exactly these devices in its own order, by `<boot order>` per device;
 * the same text if they are in it already.
 * @throws {DriverError} invalid, for a key that the machine does not have.
 */
export function withOwnOrder(xml: string, keys: readonly DeviceKey[]): string {
  const document = parseXml(xml);
  const domain = readDomain(document);
  const own = deviceKeys(effectiveBootOrder(domain));
  if (own.length === keys.length && own.every((key, index) => key === keys[index])) return xml;
  const all = bootableDevices(domain.devices);
  const devices = keys.map((key) => {
    const device = all.find((candidate) => candidate.key === key);
    if (device !== undefined) return device;
    throw new DriverError('invalid', `setting the boot order of ${domain.name}: it has no device ${key}`, {
      field: 'bootOrder',
    });
  });
  const others = all.flatMap((device) => {
    const boot = child(device.element, 'boot');
    return boot === undefined || devices.includes(device) ? [] : [removeBootOrder(document, device.element, boot)];
  });
  return applySplices(xml, [...putInOrder(document, devices), ...others]);
}

/** Writes `<boot order>` from 1, and removes `<boot dev>`, which libvirt rejects next to it. */
function putInOrder(document: XmlDocument, devices: readonly BootableDevice[]): readonly Splice[] {
  return [
    ...childElements(child(document.root, 'os'), 'boot').map((boot) => removeElement(document, boot)),
    ...devices.map((device, index) => setBootOrder(document, device.element, index + 1)),
  ];
}

/**
 * Restores the order of the user. Devices that were added since get no number that this order uses.
 */
export function restoreBootOrder(xml: string, saved: SavedBootOrder): string {
  const document = parseXml(xml);
  const domain = readDomain(document);
  const orders = new Map(saved.devices.map(({ key, order }) => [key, order]));
  const devices = bootableDevices(domain.devices).flatMap(({ key, element }) => {
    const boot = child(element, 'boot');
    const order = orders.get(key);
    if (boot !== undefined && order === undefined) return [removeBootOrder(document, element, boot)];
    const node = attributeNode(boot, 'order');
    if (order === undefined) return [];
    if (node === undefined) return [setBootOrder(document, element, Number(order))];
    return [{ start: node.valueStart, end: node.valueEnd, text: order }];
  });
  return applySplices(xml, [...devices, ...restoreOsBoot(document, saved)]);
}

function saveBootOrder(document: XmlDocument, domain: Domain): SavedBootOrder {
  const os = child(document.root, 'os');
  const isBoot = (node: unknown): boolean => childElements(os, 'boot').some((boot) => boot === node);
  return {
    os: childElements(os, 'boot').map((boot) => ({
      at: os?.nodes.slice(0, os.nodes.indexOf(boot)).filter((node) => !isBoot(node)).length ?? 0,
      markup: document.source.slice(spaceBefore(document.source, boot.start), boot.end),
    })),
    devices: bootableDevices(domain.devices).flatMap(({ key, element }) => {
      const node = attributeNode(child(element, 'boot'), 'order');
      return node === undefined ? [] : [{ key, order: document.source.slice(node.valueStart, node.valueEnd) }];
    }),
  };
}

function restoreOsBoot(document: XmlDocument, saved: SavedBootOrder): readonly Splice[] {
  const os = child(document.root, 'os');
  if (os === undefined) return [];
  // A newer <boot dev> would conflict with the order of the user.
  const present = childElements(os, 'boot');
  const rest = os.nodes.filter((node) => node.kind === 'other' || !present.includes(node));
  return [
    ...present.map((boot) => removeElement(document, boot)),
    ...saved.os.map(({ at, markup }) => {
      const offset = rest[Math.min(at, rest.length) - 1]?.end ?? os.contentStart;
      return { start: offset, end: offset, text: markup };
    }),
  ];
}

function isOfKind(device: BootableDevice, kind: BootDevice | undefined): boolean {
  const own = bootKind(device);
  return own === kind || (kind === 'hd' && own === 'usb');
}

function isChosen(device: BootableDevice, choice: BootChoice): boolean {
  return isKey(choice) ? device.key === choice : isOfKind(device, choice);
}

function isKey(choice: BootChoice): choice is DeviceKey {
  return choice.includes(':');
}

function setBootOrder(document: XmlDocument, device: XmlElement, order: number): Splice {
  const boot = child(device, 'boot');
  const node = attributeNode(boot, 'order');
  if (node !== undefined) return { start: node.valueStart, end: node.valueEnd, text: String(order) };
  // After <target>, as libvirt does; the position has no meaning.
  const after = child(device, 'target') ?? child(device, 'model') ?? child(device, 'mac') ?? child(device, 'source');
  return insertChild(document, device, `<boot order='${order}'/>`, after);
}

/** Reverts {@link setBootOrder}, also the end tag that it added to `<interface type='user'/>`. */
function removeBootOrder(document: XmlDocument, device: XmlElement, boot: XmlElement): Splice {
  const removal = removeElement(document, boot);
  const wasSelfClosing =
    removal.start === device.contentStart && removal.start < boot.start && boot.end === device.contentEnd;
  return wasSelfClosing ? { start: device.contentStart - 1, end: device.end, text: '/>' } : removal;
}
