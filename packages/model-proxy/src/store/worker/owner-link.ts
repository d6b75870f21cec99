/** The messages between a worker and the process that owns the store. All values are JSON. */
import type { Period } from '../budget-periods.js';
import type { StoredKey } from '../keys.js';
import type { UsageBatch, LimitAuthority } from '../store.js';
import type { UsageRow } from '../usage.js';

/** New values of keys. null deletes a key. */
export type ChangedKeys = readonly (readonly [digest: string, key: StoredKey | null])[];
/**
 * The spend of keys. Messages of the owner can overtake its answers, so each spend has a revision, which grows
 * with each message and answer. A worker ignores a spend whose revision is lower than that of its copy.
 */
export type ChangedSpends = readonly (readonly [digest: string, period: Period, revision: number])[];

/** A change of keys, and the keys that it depends on. */
export interface ProposedChange {
  /** The JSON of each key that the change has read; null: there was no such key. */
  readonly read: readonly (readonly [digest: string, json: string | null])[];
  /** The key with each alias that the change has read; null: there was no such key. */
  readonly aliases: readonly (readonly [alias: string, digest: string | null])[];
  readonly changes: ChangedKeys;
}

/** The state of the store at the start of a worker. */
export interface OwnerState {
  readonly keys: ChangedKeys;
  readonly spends: ChangedSpends;
}

/** The answer to a batch. */
export interface BatchAnswer {
  readonly isAvailable: boolean;
  /** The spends of the keys in the batch. */
  readonly spends: ChangedSpends;
}

/** Calls to the process that owns the store. Each may throw StoreUnavailable of packages/daemon. */
export interface OwnerLink {
  /**
   * Proposes a change.
   * @returns false if a key or an alias has changed meanwhile; true: the change is stored, and all workers have
   *   applied it.
   */
  changeKeys(change: ProposedChange): Promise<boolean>;
  setSpend(digest: string, spend: number): Promise<void>;
  addBatch(batch: UsageBatch): Promise<BatchAnswer>;
  usageDays(from: string, to: string): Promise<readonly string[]>;
  usageOf(day: string): Promise<readonly UsageRow[]>;
  readonly limits: LimitAuthority;
}
