/** Names of volumes, and references to a volume in the XML of a machine. */
import { escapeRegExp } from '@rackless/daemon/text/escape-reg-exp.js';
import type { StorageVolume } from '@rackless/libvirt';
import { attempt } from '../failure.js';
import { readDomain } from '../xml/domain.js';
import { encodeAttribute } from '../xml/escape.js';

/** The names of a volume: its path, and its pool with its name. */
export interface VolumeNames {
  readonly path: string;
  readonly pool: string;
  readonly name: string;
}

/**
 * Returns the prefix of the volumes that clients create for a machine. It differs from the names of images,
 * so that the image store does not remove these volumes.
 */
export const volumePrefix = (uuid: string): string => `rackless-volume-${uuid}-`;

/** Reads the names of a volume. @throws {DriverError} if libvirt cannot return the path. */
export async function volumeNames(volume: StorageVolume, timeoutMs: number): Promise<VolumeNames> {
  const path = await attempt(`looking up volume ${volume.name}`, () => volume.getPath({ timeoutMs }));
  return { path, pool: volume.pool, name: volume.name };
}

/**
 * Returns whether the XML of a machine refers to the volume, as a disk or as a backing file.
 * @throws {DriverError} internal, if the XML is not a domain.
 */
export function namesVolume(text: string, { path, pool, name }: VolumeNames): boolean {
  const pattern = new RegExp(`=(['"])${escapeRegExp(encodeAttribute(path))}\\1`);
  if (pattern.test(text)) return true;
  return readDomain(text).devices.disks.some(({ source }) => source.pool === pool && source.volume === name);
}
