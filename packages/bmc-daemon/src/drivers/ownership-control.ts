/** What the owners of a machine want of it, beside what it does: how it is called, and what becomes of it when its host starts. */
import type { FirmwareUpdate } from './driver.js';

/** Every method rejects with a {@link DriverError}. */
export interface OwnershipControl {
  /** @param tag empty: none any more. */
  setAssetTag(id: string, tag: string): Promise<void>;
  /** @param autostart whether the machine starts with its host. @throws {DriverError} conflict for a transient one. */
  setAutostart(id: string, autostart: boolean): Promise<void>;
  /** Keeps a firmware version for the next start over this service, which makes it the one that is installed. */
  stageFirmware(id: string, version: string): Promise<void>;
}

/** The update as it is after a start; the same object where nothing waited. */
export function afterUpdate(update: FirmwareUpdate): FirmwareUpdate {
  return update.staged === null ? update : { installed: update.staged, staged: null };
}
