/** The disks of servers with the sizes and names of their volumes, which only Cinder knows. */
import { isDeepStrictEqual } from 'node:util';
import { withDeadline } from '@rackless/daemon/deadline.js';
import type { DiskSnapshot } from '../../snapshot/hardware-snapshot.js';
import { bytesOfGib, VOLUME_BUS } from '../compute/server-disks.js';
import type { CloudSession } from '../http/session.js';
import { createReadingCache } from '../http/reading-cache.js';
import { readVolume, type Volume, type Volumes } from './volume-api.js';

/** The cache reads a volume of this age again. */
const MAX_AGE_MS = 30_000;
/**
 * If Cinder has not answered a reader in time, further readers do not wait for Cinder for this time. Each reader
 * without an answer starts this time again. After a failed request, the cache sends no request for this time.
 */
const FAILURE_MS = 10_000;
/** Maximum number of volumes in the cache. */
const MAX_VOLUMES = 10_000;
/**
 * Maximum wait of a reader. Storage is readable without Cinder, so the timeout of a request would
 * be too long.
 */
const TIMEOUT_MS = 5000;

/** Creates the reader of volumes. Makes no request before its first use. */
export function createVolumes(session: CloudSession): Volumes {
  const cache = createReadingCache((id) => readVolume(id, session), {
    max: MAX_VOLUMES,
    maxAgeMs: MAX_AGE_MS,
    failureMs: FAILURE_MS,
  });
  let silentUntil = -Infinity;
  /**
   * Returns the volume; undefined if the request takes too long. The request continues for later
   * readers.
   * @throws the error of the request, if it comes in time.
   */
  const soon = (reading: Promise<Volume | undefined>): Promise<Volume | undefined> =>
    withDeadline(reading, performance.now() < silentUntil ? 0 : TIMEOUT_MS, () => {
      silentUntil = performance.now() + FAILURE_MS;
      return undefined;
    });
  return {
    read: (id) => cache.read(id),
    find: async (id) => {
      try {
        return (await session.offers('volume')) ? await soon(cache.read(id)) : undefined;
      } catch {
        // Without Cinder, the disks still have the values that Nova knows.
        return undefined;
      }
    },
  };
}

/**
 * Returns the disks with sizes and names of their volumes; the same list if nothing is known about
 * the volumes.
 */
export async function describeDisks(
  disks: readonly DiskSnapshot[],
  volumes: Volumes,
): Promise<readonly DiskSnapshot[]> {
  const described = await Promise.all(
    disks.map(async (disk) => {
      const volume = disk.bus === VOLUME_BUS ? await volumes.find(disk.target) : undefined;
      return volume === undefined ? disk : { ...disk, capacityBytes: bytesOfGib(volume.sizeGiB), label: volume.name };
    }),
  );
  return isDeepStrictEqual(described, disks) ? disks : described;
}
