/** The names by which a machine's texts may mean a volume, and whether one of them does. */
import { escapeRegExp } from '@rackless/daemon/escape-reg-exp.js';
import type { StorageVolume } from '@rackless/libvirt';
import { attempt } from './failure.js';
import { readDomain } from './xml/domain.js';
import { encodeAttribute } from './xml/parse.js';

/** A volume by its file or device, and by its pool. */
export interface VolumeNames {
  readonly path: string;
  readonly pool: string;
  readonly name: string;
}

/** @throws {DriverError} unavailable. */
export async function volumeNames(volume: StorageVolume, timeoutMs: number): Promise<VolumeNames> {
  const path = await attempt(`looking up volume ${volume.name}`, () => volume.getPath({ timeoutMs }));
  return { path, pool: volume.pool, name: volume.name };
}

/** Whether a machine's text names the volume, as a disk or as what a disk is based on. */
export function namesVolume(text: string, { path, pool, name }: VolumeNames): boolean {
  const pattern = new RegExp(`=(['"])${escapeRegExp(encodeAttribute(path))}\\1`);
  if (pattern.test(text)) return true;
  return readDomain(text).devices.disks.some(({ source }) => source.pool === pool && source.volume === name);
}
