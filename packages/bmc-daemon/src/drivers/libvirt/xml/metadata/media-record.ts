/** Records of inserted images in a machine's metadata: one element for each device. */
import { MEDIA_DEVICES, type MediaDevice } from '../../../snapshot/media-snapshot.js';
import { attribute, type XmlElement } from '../parse.js';

/** An image that the daemon has inserted. */
export interface MediaRecord {
  readonly device: MediaDevice;
  /** Target of the drive. */
  readonly drive: string;
  /** URL of the image, without credentials. */
  readonly image: string;
  readonly imageName: string;
  /** As {@link DiskSource.name}. If the drive has another source, the user has changed it. */
  readonly source: string;
  /** The requested protection, even if the drive is always read-only. */
  readonly writeProtected: boolean;
  /** Whether the drive was `<readonly/>` before, so that an eject can restore it. */
  readonly driveReadonly: boolean;
}

/** Reads a record; null for an unknown format. Version 0.1 is supported. */
export function readMediaRecord(element: XmlElement): MediaRecord | null {
  const [drive, image] = [attribute(element, 'drive'), attribute(element, 'image')];
  const [imageName, source] = [attribute(element, 'name'), attribute(element, 'source')];
  // Version 0.1 had only CD drives.
  const kind = attribute(element, 'device') ?? 'cdrom';
  const device = MEDIA_DEVICES.find((known) => known === kind);
  if (device === undefined || drive === null || image === null || imageName === null || source === null) return null;
  const isSet = (name: string): boolean => attribute(element, name) !== 'no';
  return {
    device,
    drive,
    image,
    imageName,
    source,
    writeProtected: isSet('writeProtected'),
    driveReadonly: isSet('driveReadonly'),
  };
}

/** Returns the attributes of the element. */
export function renderMediaRecord(record: MediaRecord): Readonly<Record<string, string>> {
  const { device, drive, image, imageName, source } = record;
  return {
    device,
    drive,
    image,
    name: imageName,
    source,
    writeProtected: record.writeProtected ? 'yes' : 'no',
    driveReadonly: record.driveReadonly ? 'yes' : 'no',
  };
}

/** Returns the record of a device, or undefined. */
export function mediaRecord(records: readonly MediaRecord[] | null, device: MediaDevice): MediaRecord | undefined {
  return records?.find((record) => record.device === device);
}

/** Returns the records with this record, which replaces one of the same device. */
export function withMediaRecord(records: readonly MediaRecord[] | null, record: MediaRecord): readonly MediaRecord[] {
  return [...(records ?? []).filter(({ device }) => device !== record.device), record];
}

/** Returns the records without that of a device; null if none is left. */
export function withoutMediaRecord(
  records: readonly MediaRecord[] | null,
  device: MediaDevice,
): readonly MediaRecord[] | null {
  const left = (records ?? []).filter((record) => record.device !== device);
  return left.length === 0 ? null : left;
}
