/**
 * The store of virtual keys and usage. Requests only read memory, and increase numbers in memory. The
 * store writes them a moment later.
 */
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import type { Period } from './budget-periods.js';
import type { StoredKey } from './keys.js';
import type { RequestUsage, UsageRow } from './usage.js';
import type { SubjectRow } from './usage-rows.js';

/** The keys on which a change is based. They include earlier changes that are not stored yet. */
export interface KeysInChange {
  /** @param digest of the key. @returns undefined: there is no such key. */
  get(digest: string): StoredKey | undefined;
  /** Returns the digest of the key with an alias; undefined: no key has it. */
  withAlias(alias: string): string | undefined;
}

/** New values of keys, by digest. null deletes a key. */
export type KeyChanges = ReadonlyMap<string, StoredKey | null>;

/** A store. */
export interface Store {
  /** All keys by digest. The map changes when a change is stored. */
  readonly keys: ReadonlyMap<string, StoredKey>;
  /** Whether the last write of usage succeeded. */
  readonly isAvailable: boolean;
  /** Grows with each change of the keys. */
  readonly keysRevision: number;
  /**
   * Changes keys. Changes run one after the other. A change is on the disk, or in Redis, when the
   * promise resolves, and requests use it from then on.
   * @param change makes the change from the present keys. It may run more than once.
   * @throws what `change` throws; StoreUnavailable: it is not certain that the change is stored.
   */
  changeKeys<Result>(
    change: (keys: KeysInChange) => { readonly changes: KeyChanges; readonly result: Result },
  ): Promise<Result>;
  /** Returns the time that decides the periods of budgets, in milliseconds since 1970. With Redis, its clock counts. */
  now(): number;
  /** Returns the current period of a key's budget, and what the key has spent in it. */
  spendOf(digest: string): Period;
  /**
   * Sets what a key has spent, for a change by an administrator. The spend is on the disk, or in Redis,
   * when the promise resolves. The costs of later requests are added to it.
   * @throws {StoreUnavailable} it is not certain that the spend is stored.
   */
  setSpend(digest: string, spend: number): Promise<void>;
  /** Adds a request. A crash loses at most the last second, and all usage that waits because a write has failed. */
  addUsage(usage: RequestUsage): void;
  /**
   * Reads the rows of some days, one day after the other, the oldest first. The rows of all days may need more
   * memory than the proxy has.
   * @param from first day: `2026-11-01`.
   * @param to last day.
   * @throws {StoreUnavailable} the rows cannot be read.
   */
  usageByDay(from: string, to: string): AsyncIterable<readonly UsageRow[]>;
  /** Writes everything and closes the store. */
  close(): Promise<void>;
}

/** Usage that another process has counted. */
export interface UsageBatch {
  readonly rows: readonly SubjectRow[];
  /** The cost for each key in US dollars, by digest. */
  readonly costs: readonly (readonly [digest: string, cost: number])[];
}

/** A store in files, which one process owns. Its workers send their usage in batches. */
export interface OwnedStore extends Store {
  /** Adds the usage of a worker to the present day. */
  addBatch(batch: UsageBatch): void;
  /** Returns the days with usage between two days, the oldest first. @throws {StoreUnavailable} they cannot be read. */
  usageDays(from: string, to: string): Promise<readonly string[]>;
  /** Returns the rows of a day. @throws {StoreUnavailable} they cannot be read. */
  usageOf(day: string): Promise<readonly UsageRow[]>;
}

/**
 * Gives this process its shares of the limits of keys. The authority decides for all processes that share
 * the limits. The authority is Redis, or the first process of a group of workers.
 */
export interface LimitAuthority {
  /** Sends reports. @param reports as in `shareScript`, without the name of the proxy. @returns the script's answer. */
  report(reports: readonly string[]): Promise<unknown>;
  /** Calls the listener about once a second. The listener must not throw. */
  onHeartbeat(listener: () => void): void;
  /** How long to wait for an answer, in milliseconds. Without an answer, this process applies the limits by itself. */
  readonly timeoutMs: number;
}

/** The store of a worker: the first process of the group has the files. */
export interface WorkerKeyStore extends Store {
  readonly limits: LimitAuthority;
}

/** A store that several proxies share. */
export interface SharedKeyStore extends Store {
  readonly shared: SharedStore;
}

/** A store of any kind, as the app gets it. */
export type AnyStore = Store | SharedKeyStore | WorkerKeyStore;

/** The store cannot be opened. The message is one line for the operator. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
}
