/** Simulated firmware updates: a version waits for the next start, which installs it. */
import type { FirmwareUpdate } from './driver.js';

/** Returns the update as it is after a start; the same object where nothing waited. */
export function afterUpdate(update: FirmwareUpdate): FirmwareUpdate {
  return update.staged === null ? update : { installed: update.staged, staged: null };
}
