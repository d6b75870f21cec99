/** Edits of a definition that insert an image into a drive or eject it. */
import { imageName, storedUrl, type ImageRequest } from '../../../media/image.js';
import { DriverError } from '../../driver-error.js';
import type { MediaDevice } from '../../snapshot/media-snapshot.js';
import type { Definition } from '../machine/definition.js';
import type { ImagePlace } from './image-volumes.js';
import type { Machine } from '../machine/inventory.js';
import { withContinuousOrder } from '../machine/boot-edit.js';
import { newCdromMarkup } from '../xml/devices/cdrom.js';
import { readDomain } from '../xml/domain.js';
import { findDrive, withImage, withoutImage, type InsertedDrive } from '../xml/devices/removable-drive.js';
import { mediaRecord, withMediaRecord, withoutMediaRecord } from '../xml/metadata/media-record.js';
import { readMetadata, withMetadata } from '../xml/metadata/metadata.js';

/** An image to insert into a drive. */
export interface Insertion {
  readonly device: MediaDevice;
  readonly image: ImageRequest;
  readonly place: ImagePlace;
  /** Target of the USB stick; empty for other devices. */
  readonly stick: string;
}

/** Returns the definition with the image and its record, and the target of the drive. */
export function withInsertion(
  machine: Pick<Machine, 'name' | 'persistent'>,
  definition: Definition,
  insertion: Insertion,
): { readonly target: string; readonly xml: string } {
  const { device, image, place } = insertion;
  const { target, xml, wasReadonly } = inserted(machine, definition, insertion);
  const record = readMetadata(xml);
  const media = withMediaRecord(record.media, {
    device,
    drive: target,
    image: storedUrl(image.url),
    imageName: imageName(image.url),
    source: place.name,
    writeProtected: image.writeProtected,
    driveReadonly: wasReadonly,
  });
  const kept = withMetadata(xml, { ...record, media });
  // A continuous override to CD may have waited for a drive.
  return { target, xml: machine.persistent ? withContinuousOrder(kept) : kept };
}

/** Returns the definition with an empty drive. A USB stick is removed with its image. */
export function withEjection({ persistent }: Pick<Machine, 'persistent'>, xml: string, device: MediaDevice): string {
  const record = readMetadata(xml);
  const empty = persistent ? withoutImage(xml, device, mediaRecord(record.media, device)) : xml;
  return withMetadata(empty, { ...record, media: withoutMediaRecord(record.media, device) });
}

/** Returns the definition with the image in its drive, and adds a drive if there is none. */
function inserted(
  { name, persistent }: Pick<Machine, 'name' | 'persistent'>,
  { xml, instance }: Definition,
  { device, image, place, stick }: Insertion,
): InsertedDrive {
  const readonly = image.writeProtected;
  if (persistent) return withImage(xml, device, place.source, { readonly, stick });
  // A transient machine has only its running instance.
  const drive = instance === null ? null : findDrive(instance.domain, device, undefined);
  if (drive !== null) return { target: drive.target, xml, wasReadonly: drive.readonly };
  if (device === 'floppy') {
    throw new DriverError('unsupported', `inserting an image into machine ${name}: it has no floppy drive`);
  }
  const target = device === 'usb' ? stick : newCdromMarkup(readDomain(xml), 'hotplug', place.source).target;
  return { target, xml, wasReadonly: readonly };
}
