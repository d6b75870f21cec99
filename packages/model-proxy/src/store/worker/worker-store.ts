/**
 * The store of a worker. It has a copy of all keys and spends. The process that owns the files makes
 * the changes, and gets the usage four times a second.
 */
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import type { Log } from '@rackless/daemon/log/log.js';
import { periodAt, UNSPENT, type Period } from '../budget-periods.js';
import type { StoredKey } from '../keys.js';
import type { KeysInChange, Store, UsageBatch, WorkerKeyStore } from '../store.js';
import type { RequestUsage, UsageRow } from '../usage.js';
import { UsageFlusher } from '../usage-flusher.js';
import { UsageRows } from '../usage-rows.js';
import { jsonOf } from './key-owner.js';
import type { ChangedKeys, ChangedSpends, OwnerLink, OwnerState } from './owner-link.js';

/**
 * Time between two batches, in milliseconds. The process that owns the store writes them half a second later
 * at most, so SIGKILL loses less than a second.
 */
const FLUSH_MS = 250;
const MAX_ATTEMPTS = 20;
/** Rows of one batch. More would block the process that owns the store for longer. */
const ROWS_AT_ONCE = 500;

/** The spend of a key, as the owner has reported it. */
interface Spend {
  readonly period: Period;
  readonly revision: number;
}

/** A store with a copy of the keys and spends. The messages of the owner update the copy. */
export class WorkerStore implements WorkerKeyStore {
  readonly keys = new Map<string, StoredKey>();
  keysRevision = 0;
  readonly limits: OwnerLink['limits'];
  readonly #owner: OwnerLink;
  readonly #flusher: UsageFlusher;
  readonly #digests = new Map<string, string>();
  readonly #spends = new Map<string, Spend>();
  /** The highest revision of a spend so far. */
  #revision = 0;
  /** Costs that are on their way to the owner. */
  #sent = new Map<string, number>();
  /** Costs that are not sent yet. */
  #costs = new Map<string, number>();
  #rows = new UsageRows();
  #isOwnerAvailable = true;

  constructor(owner: OwnerLink, { keys, spends }: OwnerState, log: Pick<Log, 'info' | 'error'>) {
    this.#owner = owner;
    this.limits = owner.limits;
    this.applyKeys(keys, spends);
    this.#flusher = new UsageFlusher({ write: () => this.#send(), log, flushMs: FLUSH_MS });
  }

  get isAvailable(): boolean {
    return this.#isOwnerAvailable;
  }

  /** Applies a change that the owner has stored. */
  applyKeys(keys: ChangedKeys, spends: ChangedSpends): void {
    for (const [digest, key] of keys) this.#put(digest, key);
    this.applySpends(spends);
    this.keysRevision += 1;
  }

  /** Applies new spends. Ignores unknown keys, and spends that are older than the copy. */
  applySpends(spends: ChangedSpends): void {
    for (const [digest, period, revision] of spends) {
      if (!this.keys.has(digest) || revision < (this.#spends.get(digest)?.revision ?? 0)) continue;
      this.#spends.set(digest, { period, revision });
      this.#revision = Math.max(this.#revision, revision);
    }
  }

  /** Sends the usage to the owner. @throws an error if the owner does not answer. */
  flush(): Promise<void> {
    return this.#flusher.flush();
  }

  #put(digest: string, key: StoredKey | null): void {
    const before = this.keys.get(digest);
    const alias = before?.alias ?? null;
    if (alias !== null && this.#digests.get(alias) === digest) this.#digests.delete(alias);
    // An administrator has deleted the key, or created it again.
    if (before !== undefined && before.createdAt !== key?.createdAt) {
      this.#costs.delete(digest);
      // An answer about the old key can still arrive. Its revision is lower, so it is ignored.
      this.#spends.set(digest, { period: UNSPENT, revision: this.#revision + 1 });
    }
    if (key === null) {
      this.keys.delete(digest);
      this.#spends.delete(digest);
      return;
    }
    this.keys.set(digest, key);
    if (key.alias !== null) this.#digests.set(key.alias, digest);
  }

  changeKeys: Store['changeKeys'] = async (change) => {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      const read = new Map<string, string | null>();
      const aliases = new Map<string, string | null>();
      const { changes, result } = change(this.#view(read, aliases));
      if (changes.size === 0) return result;
      if (await this.#owner.changeKeys({ read: [...read], aliases: [...aliases], changes: [...changes] }))
        return result;
    }
    throw new StoreUnavailable('other workers change the same keys');
  };

  /** Returns the keys for a change. Adds the keys and aliases that the change reads to `read` and `aliases`. */
  #view(read: Map<string, string | null>, aliases: Map<string, string | null>): KeysInChange {
    return {
      get: (digest) => {
        const key = this.keys.get(digest);
        read.set(digest, jsonOf(key));
        return key;
      },
      withAlias: (alias) => {
        const digest = this.#digests.get(alias);
        aliases.set(alias, digest ?? null);
        return digest;
      },
    };
  }

  now(): number {
    return Date.now();
  }

  spendOf(digest: string): Period {
    const added = (this.#sent.get(digest) ?? 0) + (this.#costs.get(digest) ?? 0);
    const stored = this.#spends.get(digest)?.period ?? UNSPENT;
    const period = periodAt(stored, this.keys.get(digest)?.budgetDuration ?? null, this.now());
    return added === 0 ? period : { ...period, spend: period.spend + added };
  }

  async setSpend(digest: string, spend: number): Promise<void> {
    // Sends the costs of earlier requests first, because the new spend replaces them.
    await this.flush();
    await this.#owner.setSpend(digest, spend);
  }

  addUsage(usage: RequestUsage): void {
    this.#rows.add(usage);
    const { key, cost } = usage;
    if (key !== null && cost !== 0 && this.keys.has(key)) this.#costs.set(key, (this.#costs.get(key) ?? 0) + cost);
  }

  async *usageByDay(from: string, to: string): AsyncGenerator<readonly UsageRow[]> {
    for (const day of await this.#owner.usageDays(from, to)) yield this.#owner.usageOf(day);
  }

  /** Sends the usage for the last time. */
  close(): Promise<void> {
    return this.#flusher.close();
  }

  /** Sends all usage in batches; without usage, an empty batch: the answer shows whether the owner can store usage. */
  async #send(): Promise<void> {
    do {
      const batch = this.#nextBatch();
      // The owner ends all workers when it ends, so a batch without an answer is not sent again.
      const { isAvailable, spends } = await this.#owner.addBatch(batch);
      this.#isOwnerAvailable = isAvailable;
      this.#sent = new Map();
      this.applySpends(spends);
    } while (this.#rows.size > 0 || this.#costs.size > 0);
  }

  #nextBatch(): UsageBatch {
    const rows = this.#rows.take(ROWS_AT_ONCE);
    this.#sent = this.#costs;
    this.#costs = new Map();
    return { rows, costs: [...this.#sent] };
  }
}
