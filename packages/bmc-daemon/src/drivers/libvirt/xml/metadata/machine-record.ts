/** The record of the daemon about one machine, as values. */
import type { BootOverride } from '../../../rules/boot-override.js';
import type { IndicatorState } from '../../../snapshot/hardware-snapshot.js';
import type { CreatedRecord } from './created-record.js';
import type { DiskRecord } from './disk-record.js';
import type { Intents } from './intent-record.js';
import type { MediaRecord } from './media-record.js';
import type { MediaSettingsRecord } from './media-settings-record.js';
import type { OwnerRecord } from './owner-record.js';
import type { SettingsRecord } from './settings-record.js';
import type { UnattachedRecord } from './unattached-record.js';

/**
 * The boot order that an override replaced, so that it can be restored byte for byte. Serializable;
 * see `metadata.ts`.
 * - `os`: the `<boot dev>` elements. Each has the white space before it and the number of preceding
 *   siblings that are not `<boot>`.
 * - `devices`: each former `<boot order>` by device key, with the number as written.
 */
export interface SavedBootOrder {
  readonly os: readonly { readonly at: number; readonly markup: string }[];
  readonly devices: readonly { readonly key: string; readonly order: string }[];
}

/** An override, with the order that it has replaced. */
export interface BootRecord extends BootOverride {
  /** The user's own order, while the persistent definition contains the order of the override. */
  readonly saved: SavedBootOrder | null;
}

/**
 * The record. A member that neither a client nor the daemon has set is null. Exceptions: `resetNvram` is then
 * false, and `later` and `unknown` are empty.
 */
export interface MachineRecord {
  readonly indicator: IndicatorState | null;
  readonly boot: BootRecord | null;
  /** Inserted images, at most one for each device. */
  readonly media: readonly MediaRecord[] | null;
  readonly mediaSettings: readonly MediaSettingsRecord[] | null;
  readonly settings: SettingsRecord | null;
  readonly disks: readonly DiskRecord[] | null;
  readonly unattached: readonly UnattachedRecord[] | null;
  readonly owner: OwnerRecord | null;
  /** Null if another program has created the machine. */
  readonly created: CreatedRecord | null;
  /** Operations that have begun and must be finished. */
  readonly intents: Intents;
  /** The UEFI variables do not fit the firmware or its Secure Boot any more: the next start must recreate them. */
  readonly resetNvram: boolean;
  /**
   * Unknown members, which a newer version of the daemon has added. This version writes them back
   * unchanged.
   */
  readonly later: Readonly<Record<string, unknown>>;
  /** Unknown child elements, as markup without prefix. This version writes them back unchanged. */
  readonly unknown: readonly string[];
}

/** The record of a machine that no client has changed. */
export const emptyRecord: MachineRecord = {
  indicator: null,
  boot: null,
  media: null,
  mediaSettings: null,
  settings: null,
  disks: null,
  unattached: null,
  owner: null,
  created: null,
  intents: null,
  resetNvram: false,
  later: {},
  unknown: [],
};
