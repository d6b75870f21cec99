/** Gives the workers of a group access to the store in files, in the process that owns it. */
import { UNSPENT } from '../budget-periods.js';
import type { KeysInChange, OwnedStore, UsageBatch } from '../store.js';
import type { UsageRow } from '../usage.js';
import type { BatchAnswer, ChangedKeys, ChangedSpends, OwnerState, ProposedChange } from './owner-link.js';

/** Tells the workers of the group what has changed. */
export interface OwnerAudience {
  /** Resolves when all workers that serve clients have applied the change. Never rejects. */
  keysChanged(keys: ChangedKeys, spends: ChangedSpends): Promise<void>;
  /** @param sender the worker that does not need the message; null: all workers get it. */
  spendsChanged(spends: ChangedSpends, sender: number | null): void;
  /** Makes all workers send the usage that they have not sent yet. Never rejects. */
  collectUsage(): Promise<void>;
}

/** The error if a proposed change depends on keys that have changed meanwhile. */
class OutdatedChangeError extends Error {}

/** The store, for workers. */
export class KeyOwner {
  readonly #store: OwnedStore;
  readonly #audience: OwnerAudience;
  #revision = 0;

  constructor(store: OwnedStore, audience: OwnerAudience) {
    this.#store = store;
    this.#audience = audience;
  }

  /** Returns what a new worker needs. */
  state(): OwnerState {
    const keys = [...this.#store.keys];
    return { keys, spends: this.#spendsOf(keys.map(([digest]) => digest)) };
  }

  /** Makes a change. @returns false if it is outdated. @throws {StoreUnavailable} as `Store.changeKeys`. */
  async changeKeys({ read, aliases, changes }: ProposedChange): Promise<boolean> {
    const isUnchanged = (keys: KeysInChange): boolean =>
      read.every(([digest, json]) => jsonOf(keys.get(digest)) === json) &&
      aliases.every(([alias, digest]) => (keys.withAlias(alias) ?? null) === digest);
    try {
      await this.#store.changeKeys((keys) => {
        if (!isUnchanged(keys)) throw new OutdatedChangeError();
        return { changes: new Map(changes), result: undefined };
      });
    } catch (error) {
      if (error instanceof OutdatedChangeError) return false;
      throw error;
    }
    await this.#audience.keysChanged(changes, this.#spendsOf(changes.map(([digest]) => digest)));
    return true;
  }

  /** Sets a spend. @throws {StoreUnavailable} as `Store.setSpend`. */
  async setSpend(digest: string, spend: number): Promise<void> {
    await this.#store.setSpend(digest, spend);
    this.#audience.spendsChanged(this.#spendsOf([digest]), null);
  }

  /** Adds the usage of a worker, and tells the other workers the new spends. */
  addBatch(sender: number, batch: UsageBatch): BatchAnswer {
    this.#store.addBatch(batch);
    const spends = this.#spendsOf(batch.costs.map(([digest]) => digest));
    if (spends.length > 0) this.#audience.spendsChanged(spends, sender);
    return { isAvailable: this.#store.isAvailable, spends };
  }

  /**
   * Returns the days with usage, after all workers have sent their usage.
   * @throws {StoreUnavailable} the days cannot be read.
   */
  async usageDays(from: string, to: string): Promise<readonly string[]> {
    await this.#audience.collectUsage();
    return this.#store.usageDays(from, to);
  }

  /** Returns the usage of a day. @throws {StoreUnavailable} the rows cannot be read. */
  usageOf(day: string): Promise<readonly UsageRow[]> {
    return this.#store.usageOf(day);
  }

  #spendsOf(digests: readonly string[]): ChangedSpends {
    this.#revision += 1;
    return digests.flatMap((digest): ChangedSpends => {
      const period = this.#store.spendOf(digest);
      return period === UNSPENT ? [] : [[digest, period, this.#revision]];
    });
  }
}

/** Returns the JSON of a key, to compare it; null for no key. */
export function jsonOf(key: object | undefined): string | null {
  return key === undefined ? null : JSON.stringify(key);
}
