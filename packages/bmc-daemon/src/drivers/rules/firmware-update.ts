/** Simulated firmware updates: the next start installs a staged version. */
import type { FirmwareUpdate } from '../snapshot/system-snapshot.js';

/** Returns the update after a start; the same object if no version was staged. */
export function afterUpdate(update: FirmwareUpdate): FirmwareUpdate {
  return update.staged === null ? update : { installed: update.staged, staged: null };
}
