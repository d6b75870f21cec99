/**
 * Edits the boot order of a machine. An override can be reverted exactly. An override always uses
 * `<boot order>` per device. Only this form can put a device before another device of the same
 * kind.
 */
import { DriverError } from '../../../driver-error.js';
import type { BootChoice } from '../../../rules/boot-override.js';
import type { DeviceKey } from '../../../snapshot/firmware-snapshot.js';
import type { DefinitionEdit } from '../definition-edit.js';
import type { BootableDevice } from '../devices/device.js';
import type { SavedBootOrder } from '../metadata/machine-record.js';
import { child, childElements, type XmlElement } from '../tree.js';
import type { XmlEdit } from '../xml-edit.js';
import {
  bootableDevices,
  deviceKeys,
  effectiveBootOrder,
  isChosen,
  isSameOrder,
  orderWithFirst,
} from './boot-order.js';

/**
 * Puts the devices of one kind, or one device, at the front of the boot order.
 * @returns the order that this replaces, for {@link restoreBootOrder}.
 * @throws {DriverError} invalid, if the machine has no such device.
 */
export function overrideBootOrder(edit: DefinitionEdit, target: BootChoice): SavedBootOrder {
  const { domain } = edit;
  const order = orderWithFirst(domain, target);
  if (!order.some(({ device }) => isChosen(device, target))) {
    throw new DriverError('invalid', `setting the boot order of ${domain.name}: it has no ${target} device`, {
      field: 'bootTarget',
    });
  }
  const saved = savedBootOrder(edit);
  writeOrder(
    edit.xml,
    order.map(({ device }) => device),
  );
  return saved;
}

/**
 * Makes the machine's own order exactly these devices. All other devices lose their `<boot order>`. Changes
 * nothing if the order is the same already.
 * @throws {DriverError} invalid, for a key that the machine does not have.
 */
export function setOwnOrder(edit: DefinitionEdit, keys: readonly DeviceKey[]): void {
  const { domain, xml } = edit;
  if (isSameOrder(deviceKeys(effectiveBootOrder(domain)), keys)) return;
  const all = bootableDevices(domain.devices);
  const devices = keys.map((key) => {
    const device = all.find((candidate) => candidate.key === key);
    if (device !== undefined) return device;
    throw new DriverError('invalid', `setting the boot order of ${domain.name}: it has no device ${key}`, {
      field: 'bootOrder',
    });
  });
  writeOrder(xml, devices);
  for (const device of all) {
    const boot = child(device.element, 'boot');
    if (boot !== undefined && !devices.includes(device)) xml.revertInsert(boot);
  }
}

/**
 * Restores the order of the user. Devices that were added after the override have no number afterwards.
 * @throws {DriverError} internal, for a saved order that is not XML.
 */
export function restoreBootOrder({ domain, xml }: DefinitionEdit, saved: SavedBootOrder): void {
  const orders = new Map(saved.devices.map(({ key, order }) => [key, order]));
  for (const { key, element } of bootableDevices(domain.devices)) {
    const boot = child(element, 'boot');
    const order = orders.get(key);
    if (order === undefined) {
      if (boot !== undefined) xml.revertInsert(boot);
    } else if (boot === undefined || xml.rawAttribute(boot, 'order') === undefined) {
      setBootOrder(xml, element, Number(order));
    } else xml.setRawAttribute(boot, 'order', order);
  }
  restoreOsBoot(xml, saved);
}

/** Writes `<boot order>` from 1, and removes `<boot dev>`, which libvirt rejects next to it. */
function writeOrder(xml: XmlEdit, devices: readonly BootableDevice[]): void {
  for (const boot of childElements(child(xml.root, 'os'), 'boot')) xml.remove(boot);
  for (const [index, { element }] of devices.entries()) setBootOrder(xml, element, index + 1);
}

function savedBootOrder({ domain, xml }: DefinitionEdit): SavedBootOrder {
  const os = child(xml.root, 'os');
  const boots = childElements(os, 'boot');
  const isBoot = (node: unknown): boolean => boots.some((boot) => boot === node);
  return {
    os: boots.map((boot) => ({
      at: os?.nodes.slice(0, os.nodes.indexOf(boot)).filter((node) => !isBoot(node)).length ?? 0,
      markup: xml.indentedMarkupOf(boot),
    })),
    devices: bootableDevices(domain.devices).flatMap(({ key, element }) => {
      const boot = child(element, 'boot');
      const order = boot === undefined ? undefined : xml.rawAttribute(boot, 'order');
      return order === undefined ? [] : [{ key, order }];
    }),
  };
}

function restoreOsBoot(xml: XmlEdit, saved: SavedBootOrder): void {
  const os = child(xml.root, 'os');
  if (os === undefined) return;
  // A <boot dev> that was added meanwhile would conflict with the user's order.
  for (const boot of childElements(os, 'boot')) xml.remove(boot);
  const rest = [...os.nodes];
  // Inserts from the last to the first, so that several elements at one place keep their order.
  for (const { at, markup } of saved.os.toReversed()) {
    xml.insertUnchanged(os, markup, rest[Math.min(at, rest.length) - 1] ?? null);
  }
}

function setBootOrder(xml: XmlEdit, device: XmlElement, order: number): void {
  const boot = child(device, 'boot');
  if (boot !== undefined && xml.rawAttribute(boot, 'order') !== undefined) {
    xml.setAttribute(boot, 'order', String(order));
    return;
  }
  // Adds <boot> after <target>, as libvirt does. The position has no meaning.
  const after = child(device, 'target') ?? child(device, 'model') ?? child(device, 'mac') ?? child(device, 'source');
  xml.insert(device, `<boot order='${order}'/>`, after);
}
