/** Details of servers that other services of the cloud know. They are read only for clients that ask for them. */
import { isDeepStrictEqual } from 'node:util';
import type { SystemDetails, SystemSnapshot } from '../../snapshot/system-snapshot.js';
import type { CloudSession } from '../http/session.js';
import { createVolumes, describeDisks } from './described-disks.js';

/** Completes snapshots. */
interface Inventory {
  /**
   * Returns a snapshot with these details in full; the same object while they do not change.
   * @throws as {@link CloudSession.request}.
   */
  complete(snapshot: SystemSnapshot, shown: readonly (keyof SystemDetails)[]): Promise<SystemSnapshot>;
}

/** Creates the inventory of a cloud. */
export function createInventory(session: CloudSession): Inventory {
  const volumes = createVolumes(session);
  /** The last completed snapshot of each snapshot. */
  const completed = new WeakMap<SystemSnapshot, SystemSnapshot>();
  return {
    complete: async (snapshot, shown) => {
      const { disks } = snapshot;
      if (disks === undefined || !shown.includes('disks')) return snapshot;
      const described = await describeDisks(disks, volumes);
      if (described === disks) return snapshot;
      const last = completed.get(snapshot);
      if (last !== undefined && isDeepStrictEqual(last.disks, described)) return last;
      const next = { ...snapshot, disks: described };
      completed.set(snapshot, next);
      return next;
    },
  };
}
