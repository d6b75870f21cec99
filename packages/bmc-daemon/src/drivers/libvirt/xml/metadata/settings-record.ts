/** Firmware settings in a machine's metadata. */
import type { StoredValue, SettingsChange, SettingsFailure } from '../../../snapshot/firmware-snapshot.js';

/** Firmware settings that are stored or pending. */
export interface SettingsRecord {
  /** Values that are only stored, and have no effect on the machine. */
  readonly kept: Readonly<Record<string, StoredValue>>;
  readonly pending: SettingsChange;
  readonly failure: SettingsFailure | null;
  /** Values before the first change by a client: `ResetBios` restores them. */
  readonly original: SettingsChange;
  /**
   * The template of the existing UEFI variables. Set only while the definition names another
   * template or boots by BIOS.
   */
  readonly variables: string | null;
}

/** The record of a machine whose settings no client has changed. */
export const noSettings: SettingsRecord = { kept: {}, pending: {}, failure: null, original: {}, variables: null };

/** Returns the record, or null if it is empty. */
export function settingsOrNull(record: SettingsRecord): SettingsRecord | null {
  const { kept, pending, original, failure, variables } = record;
  const isSet = [kept, pending, original].some((value) => Object.keys(value).length > 0);
  return isSet || failure !== null || variables !== null ? record : null;
}
