/** Definitions of clones: the definition of the source with a new identity, new disks and new files. */
import { ejectMedia } from '../media/media-definition.js';
import { DefinitionEdit } from '../xml/definition-edit.js';
import type { Disk } from '../xml/devices/device.js';
import { sourceMarkup } from '../xml/devices/disk-source.js';
import type { CreatedRecord } from '../xml/metadata/created-record.js';
import { emptyRecord } from '../xml/metadata/machine-record.js';
import { restoreBootOrder } from '../xml/os/boot-order-edit.js';
import { attribute, child, childElements } from '../xml/tree.js';
import { derivedSerial, derivedWwn } from './addresses.js';
import type { DiskVolume } from './machine-xml.js';

/** The identity of a clone. */
export interface CloneIdentity {
  readonly name: string;
  readonly uuid: string;
  /** One address for each interface of the source. */
  readonly macs: readonly string[];
  readonly record: CreatedRecord;
}

/**
 * Returns the disks that a clone must copy: all except drives, read-only disks and shared disks.
 */
export function ownDisks({ domain }: Pick<DefinitionEdit, 'domain'>): readonly Disk[] {
  return domain.devices.disks.filter(
    ({ device, readonly, element }) => device === 'disk' && !readonly && child(element, 'shareable') === undefined,
  );
}

/**
 * Returns a definition without the images that clients inserted, the boot override and the daemon's record.
 * @throws {DriverError} internal, for a saved order that is not XML; conflict, if a newer version of the daemon
 *   has written the record in a newer format.
 */
export function withoutDaemon(source: string): string {
  const edit = new DefinitionEdit(source);
  for (const { device } of edit.record.media ?? []) ejectMedia({ persistent: true }, edit, device);
  const saved = edit.record.boot?.saved ?? null;
  if (saved !== null) restoreBootOrder(edit, saved);
  edit.setRecord(emptyRecord);
  return edit.text();
}

/**
 * Returns the definition of a clone.
 * @param source the result of {@link withoutDaemon}.
 * @param disks the copies of {@link ownDisks}, in their order. A disk without a copy is removed.
 */
export function cloneXml(source: string, identity: CloneIdentity, disks: readonly DiskVolume[]): string {
  const edit = new DefinitionEdit(source);
  replaceDisks(edit, identity, disks);
  renameFiles(edit, identity);
  setIdentity(edit, identity);
  edit.setRecord({ ...emptyRecord, created: identity.record });
  return edit.text();
}

function setIdentity({ xml, domain }: DefinitionEdit, { name, uuid, macs }: CloneIdentity): void {
  const { root } = xml;
  const [nameElement, uuidElement, generation] = [child(root, 'name'), child(root, 'uuid'), child(root, 'genid')];
  if (nameElement !== undefined) xml.setText(nameElement, name);
  if (uuidElement !== undefined) xml.setText(uuidElement, uuid);
  if (generation !== undefined) xml.remove(generation);
  for (const entry of childElements(child(root, 'sysinfo', 'system'), 'entry')) {
    // libvirt rejects a system UUID that differs from the machine's.
    if (attribute(entry, 'name') === 'uuid') xml.setText(entry, uuid);
  }
  for (const [index, { element }] of domain.devices.interfaces.entries()) {
    const [mac, target] = [child(element, 'mac'), child(element, 'target')];
    if (mac !== undefined) xml.setAttribute(mac, 'address', macs[index] ?? '');
    // The target is the name of an interface of the host, which only one machine can have. libvirt chooses another.
    if (target !== undefined) xml.remove(target);
  }
}

function replaceDisks(edit: DefinitionEdit, { uuid }: CloneIdentity, disks: readonly DiskVolume[]): void {
  const { xml } = edit;
  for (const [index, disk] of ownDisks(edit).entries()) {
    const copy = disks[index];
    if (copy === undefined) {
      xml.remove(disk.element);
      continue;
    }
    const { element } = disk;
    xml.setAttribute(element, 'type', copy.source.type);
    const [driver, source] = [child(element, 'driver'), child(element, 'source')];
    if (driver !== undefined) xml.setAttribute(driver, 'type', copy.format);
    if (source !== undefined) xml.replace(source, sourceMarkup(copy.source));
    // A copy has no backing file.
    for (const old of childElements(element, 'backingStore')) xml.remove(old);
    const [serial, wwn] = [child(element, 'serial'), child(element, 'wwn')];
    if (serial !== undefined) xml.setText(serial, derivedSerial(uuid, index));
    if (wwn !== undefined) xml.setText(wwn, derivedWwn(uuid, index));
  }
}

/** Gives the clone new UEFI variables, and its own serial log. If it has no serial log, removes the source's log. */
function renameFiles({ xml }: DefinitionEdit, { record }: CloneIdentity): void {
  const { root } = xml;
  const variables = child(root, 'os', 'nvram');
  if (variables !== undefined) {
    // Without a path, libvirt makes a new file from the template.
    for (const source of childElements(variables, 'source')) xml.remove(source);
    xml.removeAttribute(variables, 'type');
    xml.setText(variables, '');
  }
  const { serialLog } = record;
  for (const port of childElements(child(root, 'devices')).filter(({ name }) => /^(serial|console)$/.test(name))) {
    const log = child(port, 'log');
    if (log === undefined) continue;
    if (serialLog !== null) xml.setAttribute(log, 'file', serialLog);
    else xml.remove(log);
  }
}
