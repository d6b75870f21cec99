/** Edits of a definition that insert an image into a drive or eject it. */
import { imageName, storedUrl, type ImageRequest } from '../../../media/image.js';
import { DriverError } from '../../driver-error.js';
import type { MediaDevice } from '../../snapshot/media-snapshot.js';
import type { Definition } from '../machine/definition.js';
import type { ImagePlace } from './image-volumes.js';
import type { Machine } from '../machine/inventory.js';
import { applyContinuousOrder } from '../machine/boot-edit.js';
import type { DefinitionEdit } from '../xml/definition-edit.js';
import { newCdromMarkup } from '../xml/devices/cdrom.js';
import { findDrive, insertImage, removeImage, type InsertedDrive } from '../xml/devices/removable-drive.js';
import { mediaRecord, withMediaRecord, withoutMediaRecord } from '../xml/metadata/media-record.js';

/** An image to insert into a drive. */
export interface Insertion {
  readonly device: MediaDevice;
  readonly image: ImageRequest;
  readonly place: ImagePlace;
  /** Target of the USB stick; empty for other devices. */
  readonly stick: string;
}

/**
 * Inserts the image into its drive, and adds the record of the image. Adds a drive if there is none. For a
 * transient machine, adds only the record.
 * @returns the target of the drive.
 * @throws {DriverError} unsupported, if the machine cannot have the drive; noPlace, if the bus is full; conflict, as
 *   {@link ejectMedia}.
 */
export function insertMedia(
  machine: Pick<Machine, 'name' | 'persistent'>,
  edit: DefinitionEdit,
  instance: Definition['instance'],
  insertion: Insertion,
): string {
  const { device, image, place } = insertion;
  const { target, wasReadonly } = insertIntoDrive(machine, edit, instance, insertion);
  const { record } = edit;
  const media = withMediaRecord(record.media, {
    device,
    drive: target,
    image: storedUrl(image.url),
    imageName: imageName(image.url),
    source: place.name,
    writeProtected: image.writeProtected,
    driveReadonly: wasReadonly,
  });
  edit.setRecord({ ...record, media });
  // A continuous override to CD may have waited for a CD drive. It now takes effect.
  if (machine.persistent) applyContinuousOrder(edit);
  return target;
}

/**
 * Empties the drive, and removes its record. Removes a USB stick together with its image. For a transient machine,
 * removes only the record.
 * @throws {DriverError} conflict, if a newer version of the daemon has written the record in a newer format.
 */
export function ejectMedia(
  { persistent }: Pick<Machine, 'persistent'>,
  edit: DefinitionEdit,
  device: MediaDevice,
): void {
  const { record } = edit;
  if (persistent) removeImage(edit, device, mediaRecord(record.media, device));
  edit.setRecord({ ...record, media: withoutMediaRecord(record.media, device) });
}

/**
 * Inserts the image into the drive in the definition. A transient machine has no persistent definition, so
 * this only selects the drive of its guest, or the target of a drive to plug in.
 * @throws {DriverError} unsupported, if the machine cannot have the drive; noPlace, if the bus is full.
 */
function insertIntoDrive(
  { name, persistent }: Pick<Machine, 'name' | 'persistent'>,
  edit: DefinitionEdit,
  instance: Definition['instance'],
  { device, image, place, stick }: Insertion,
): InsertedDrive {
  const readonly = image.writeProtected;
  if (persistent) return insertImage(edit, device, place.source, { readonly, stick });
  // A transient machine has only its running instance.
  const drive = instance === null ? null : findDrive(instance.domain, device, undefined);
  if (drive !== null) return { target: drive.target, wasReadonly: drive.readonly };
  if (device === 'floppy') {
    throw new DriverError('unsupported', `inserting an image into machine ${name}: it has no floppy drive`);
  }
  const target = device === 'usb' ? stick : newCdromMarkup(edit.domain, 'hotplug', place.source).target;
  return { target, wasReadonly: readonly };
}
