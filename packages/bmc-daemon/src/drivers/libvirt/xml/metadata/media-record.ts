/** Records of inserted images in a machine's metadata: at most one for each device. */
import type { MediaDevice } from '../../../snapshot/media-snapshot.js';

/** An image that the daemon has inserted. */
export interface MediaRecord {
  readonly device: MediaDevice;
  /** Target of the drive: `sda`. */
  readonly drive: string;
  /** URL of the image, without credentials. */
  readonly image: string;
  readonly imageName: string;
  /**
   * The source of the image, as {@link DiskSource.name}. If the drive has another source, the user
   * has changed the image.
   */
  readonly source: string;
  /** Whether the client requested write protection. A CD drive is read-only even if this is false. */
  readonly writeProtected: boolean;
  /** Whether the drive was `<readonly/>` before the insert, so that an eject can restore it. */
  readonly driveReadonly: boolean;
}

/** Returns the record of a device, or undefined. */
export function mediaRecord(records: readonly MediaRecord[] | null, device: MediaDevice): MediaRecord | undefined {
  return records?.find((record) => record.device === device);
}

/** Adds a record. It replaces a record of the same device. */
export function withMediaRecord(records: readonly MediaRecord[] | null, record: MediaRecord): readonly MediaRecord[] {
  return [...(records ?? []).filter(({ device }) => device !== record.device), record];
}

/** Returns the records without the record of the given device; null if none is left. */
export function withoutMediaRecord(
  records: readonly MediaRecord[] | null,
  device: MediaDevice,
): readonly MediaRecord[] | null {
  const left = (records ?? []).filter((record) => record.device !== device);
  return left.length === 0 ? null : left;
}
