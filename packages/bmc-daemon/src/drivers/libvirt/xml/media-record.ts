/** What the daemon has put into a drive of a machine, as its metadata keeps it: one element for each kind of drive. */
import { MEDIA_DEVICES, type MediaDevice } from '../../media-snapshot.js';
import { attribute, type XmlElement } from './parse.js';

/** An image that the daemon put into a drive. */
export interface MediaRecord {
  readonly device: MediaDevice;
  /** Target name of the drive. */
  readonly drive: string;
  /** URL that it came from, without credentials. */
  readonly image: string;
  readonly imageName: string;
  /** As {@link DiskSource.name}: a drive that holds something else was changed by the user since. */
  readonly source: string;
  /** What was asked for, whatever the drive made of it. */
  readonly writeProtected: boolean;
  /** Whether the definition's drive was `<readonly/>` before, so that it is again when it is empty. */
  readonly driveReadonly: boolean;
}

/** Null for what is not as this version, or the first one, writes it. */
export function readMediaRecord(element: XmlElement): MediaRecord | null {
  const [drive, image] = [attribute(element, 'drive'), attribute(element, 'image')];
  const [imageName, source] = [attribute(element, 'name'), attribute(element, 'source')];
  // The first version knew nothing but CD drives.
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

/** The attributes of the element. */
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

/** The record of a kind of drive; undefined: nothing was put into it. */
export function mediaRecord(records: readonly MediaRecord[] | null, device: MediaDevice): MediaRecord | undefined {
  return records?.find((record) => record.device === device);
}

/** The records with this one in place of the one for its drive. */
export function withMediaRecord(records: readonly MediaRecord[] | null, record: MediaRecord): readonly MediaRecord[] {
  return [...(records ?? []).filter(({ device }) => device !== record.device), record];
}

/** The records without that of a drive; null where none is left. */
export function withoutMediaRecord(
  records: readonly MediaRecord[] | null,
  device: MediaDevice,
): readonly MediaRecord[] | null {
  const left = (records ?? []).filter((record) => record.device !== device);
  return left.length === 0 ? null : left;
}
