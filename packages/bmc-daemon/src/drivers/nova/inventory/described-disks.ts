/** The disks of servers with the sizes and names of their volumes, which only Cinder knows. */
import { isDeepStrictEqual } from 'node:util';
import type { DiskSnapshot } from '../../snapshot/hardware-snapshot.js';
import { gibibytes, VOLUME_BUS } from '../compute/server-disks.js';
import type { CloudSession } from '../http/session.js';
import { createReadingCache } from '../http/reading-cache.js';
import { readVolume, type Volumes } from './volume-api.js';

/** A volume of this age is read again. */
const MAX_AGE_MS = 30_000;
/** While Cinder does not answer, readers wait for it once in this time only. */
const FAILURE_MS = 10_000;
const MAX_VOLUMES = 10_000;

/** Creates the reader of volumes. It makes no request before it is used. */
export function createVolumes(session: CloudSession): Volumes {
  const cache = createReadingCache((id) => readVolume(id, session), {
    max: MAX_VOLUMES,
    maxAgeMs: MAX_AGE_MS,
    failureMs: FAILURE_MS,
  });
  return {
    read: (id) => cache.read(id),
    find: async (id) => {
      try {
        return (await session.offers('volume')) ? await cache.read(id) : undefined;
      } catch {
        // Nova's part of the disks is true without Cinder.
        return undefined;
      }
    },
  };
}

/** Returns the disks with sizes and names of their volumes; the same list if nothing is known about them. */
export async function describeDisks(
  disks: readonly DiskSnapshot[],
  volumes: Volumes,
): Promise<readonly DiskSnapshot[]> {
  const described = await Promise.all(
    disks.map(async (disk) => {
      const volume = disk.bus === VOLUME_BUS ? await volumes.find(disk.target) : undefined;
      return volume === undefined ? disk : { ...disk, capacityBytes: gibibytes(volume.sizeGiB), label: volume.name };
    }),
  );
  return isDeepStrictEqual(described, disks) ? disks : described;
}
