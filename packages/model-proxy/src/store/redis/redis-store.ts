/**
 * The store of several proxies: Redis. Each proxy has a copy of the keys in memory, so requests do not
 * wait for Redis, except for limits of keys. While Redis does not answer, the keys stay valid and the usage
 * stays in memory.
 */
import { z } from 'zod';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import type { Log } from '@rackless/daemon/log/log.js';
import type { ChangedEntry, StoredEntry } from '@rackless/daemon/shared-store/entries.js';
import { openSharedStore, type SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { budgetEvents, type BudgetEvent, type OnBudgetEvent } from '../budget-events.js';
import { storedKey, type StoredKey } from '../keys.js';
import { StoreError, type KeyChanges, type KeysInChange, type SharedKeyStore } from '../store.js';
import type { RequestUsage, UsageRow } from '../usage.js';
import { UsageFlusher } from '../usage-flusher.js';
import { RedisUsage } from './redis-usage.js';

/** Options of {@link openRedisStore}. */
interface RedisStoreOptions {
  /** `redis://user:password@host:6379/0`, or `rediss:` for TLS. */
  readonly url: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** How many days the usage is stored, including the present day; null: ten years. */
  readonly keepDays: number | null;
  /** Returns milliseconds since 1970. Default: the clock of Redis. */
  readonly now?: () => number;
  /** Called in one of the proxies for each key that crosses a threshold of its budget. */
  readonly onBudgetEvent?: OnBudgetEvent | undefined;
}

const KEY = 'key';
const ALIAS = 'alias';
const MAX_ATTEMPTS = 10;
/**
 * How long the proxy waits for Redis at its end. Redis may be slow, or may be restarting. The time is less than
 * `STOP_MARGIN_MS` of workers.
 */
const CLOSE_MS = 5000;

/** Connects to the store. @throws {StoreError} Redis does not answer. */
export async function openRedisStore(options: RedisStoreOptions): Promise<SharedKeyStore> {
  const { url, log, keepDays } = options;
  let opened: SharedStore | undefined;
  try {
    const shared = await openSharedStore(url, 'model-proxy', log);
    opened = shared;
    const now = options.now ?? (() => shared.now());
    const { onBudgetEvent } = options;
    const keys = new Map<string, StoredKey>();
    const usage = new RedisUsage(shared, {
      keepDays,
      now,
      ...(onBudgetEvent === undefined
        ? {}
        : {
            onSpend: (digest, before, after) => {
              const key = keys.get(digest);
              const events = key === undefined ? [] : budgetEvents(digest, key, before, after);
              for (const event of events) claim(shared, event, onBudgetEvent, log);
            },
          }),
    });
    await usage.open();
    return new SharedKeys(shared, keys, usage, log);
  } catch (error) {
    await opened?.close();
    if (error instanceof StoreUnavailable) throw new StoreError(error.message, { cause: error });
    throw error;
  }
}

/**
 * How long Redis stores that one of the proxies has claimed an alert. All proxies read a new spend within a second.
 * Only the first of them claims and sends the alert.
 */
const CLAIM_MS = 3_600_000;
const claimScript = `return redis.call('SET', KEYS[1], '1', 'NX', 'PX', ARGV[1]) and 1 or 0`;

/** Calls the function unless another proxy has already sent an alert about the same threshold and period. */
function claim(shared: SharedStore, event: BudgetEvent, send: OnBudgetEvent, log: RedisStoreOptions['log']): void {
  const { digest, message, key, period } = event;
  const name = JSON.stringify([digest, message, key.maxBudget, key.softBudget, period.resetAt]);
  shared.run(claimScript, [`alert:${name}`], [String(CLAIM_MS)]).then(
    (answer) => {
      if (answer === 1) send(event);
    },
    (error: unknown) => log.warn(`an alert about a budget is lost: ${fileReason(error)}`),
  );
}

class SharedKeys implements SharedKeyStore {
  readonly shared: SharedStore;
  readonly keys: Map<string, StoredKey>;
  keysRevision = 0;
  /** Revisions of the copied keys. */
  readonly #revisions = new Map<string, number>();
  readonly #log: RedisStoreOptions['log'];
  readonly #usage: RedisUsage;
  readonly #flusher: UsageFlusher;

  /** @param keys empty; this store fills it. */
  constructor(shared: SharedStore, keys: Map<string, StoredKey>, usage: RedisUsage, log: RedisStoreOptions['log']) {
    this.shared = shared;
    this.keys = keys;
    this.#log = log;
    this.#usage = usage;
    this.#load();
    shared.onChange((changed) => (changed === null ? this.#load() : this.#update(changed)));
    this.#flusher = new UsageFlusher({ write: () => usage.flush(), log, closeMs: CLOSE_MS });
  }

  get isAvailable(): boolean {
    return this.#flusher.isAvailable;
  }

  /** Copies the keys of the shared store that have changed, and removes keys that it does not have. */
  #load(): void {
    const entries = this.shared.list(KEY);
    const present = new Set(entries.map(({ id }) => id));
    for (const entry of entries) this.#put(entry);
    for (const id of this.#revisions.keys()) if (!present.has(id)) this.#remove(id);
    this.keysRevision += 1;
  }

  /** Copies the keys that have changed. */
  #update(changed: readonly ChangedEntry[]): void {
    for (const { kind, id } of changed) {
      if (kind !== KEY) continue;
      const entry = this.shared.get(KEY, id);
      if (entry === undefined) this.#remove(id);
      else this.#put(entry);
    }
    this.keysRevision += 1;
  }

  #put({ id, revision, value }: StoredEntry): void {
    if (this.#revisions.get(id) === revision) return;
    this.#revisions.set(id, revision);
    const { data } = storedKey.safeParse(value);
    const before = this.keys.get(id);
    if (before !== undefined) this.#updateSpend(id, before, data);
    if (data !== undefined) this.keys.set(id, data);
    else {
      this.keys.delete(id);
      this.#log.error(`the key ${id} has a form that this version cannot read: it is not valid here`);
    }
  }

  #remove(id: string): void {
    this.#revisions.delete(id);
    this.keys.delete(id);
    this.#usage.forget(id);
  }

  #updateSpend(digest: string, before: StoredKey, key: StoredKey | undefined): void {
    // An administrator has deleted the key and created it again.
    if (before.createdAt !== key?.createdAt) this.#usage.forget(digest);
    // Stores the end of the period now. Otherwise, the end would move until the next request.
    else if (before.budgetDuration !== key.budgetDuration) this.#usage.addCost(digest, 0, key.budgetDuration);
  }

  async changeKeys<Result>(
    change: (keys: KeysInChange) => { readonly changes: KeyChanges; readonly result: Result },
  ): Promise<Result> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      await this.shared.sync();
      const { changes, result } = change(this.#view());
      if (changes.size === 0) return result;
      if (!(await this.shared.commit(this.#commitOf(changes)))) continue;
      await this.#removeSpends(changes);
      return result;
    }
    throw new StoreUnavailable('other proxies change the same keys');
  }

  #view(): KeysInChange {
    return {
      get: (digest) => this.keys.get(digest),
      withAlias: (alias) => {
        const value = this.shared.get(ALIAS, alias)?.value;
        return z.object({ digest: z.string() }).safeParse(value).data?.digest;
      },
    };
  }

  /** An alias is an entry of its own, so that two proxies cannot give it to two keys. */
  #commitOf(changes: KeyChanges) {
    const revisionOf = (kind: string, id: string) => this.shared.get(kind, id)?.revision ?? 0;
    const aliases = new Map<string, { readonly digest: string } | null>();
    for (const [digest] of changes) {
      const alias = this.keys.get(digest)?.alias ?? null;
      if (alias !== null) aliases.set(alias, null);
    }
    for (const [digest, key] of changes) if (key !== null && key.alias !== null) aliases.set(key.alias, { digest });
    return [
      ...[...changes].map(([id, value]) => ({ kind: KEY, id, expected: revisionOf(KEY, id), value })),
      ...[...aliases].map(([id, value]) => ({ kind: ALIAS, id, expected: revisionOf(ALIAS, id), value })),
    ];
  }

  async #removeSpends(changes: KeyChanges): Promise<void> {
    const deleted = [...changes].flatMap(([digest, key]) => (key === null ? [digest] : []));
    if (deleted.length === 0) return;
    for (const digest of deleted) this.#usage.remove(digest);
    // The keys are deleted. If Redis fails now, a later flush removes their spends.
    await this.#flusher.flush().catch(() => undefined);
  }

  now(): number {
    return this.#usage.now();
  }

  spendOf(digest: string) {
    return this.#usage.spendOf(digest, this.keys.get(digest)?.budgetDuration ?? null);
  }

  async setSpend(digest: string, spend: number): Promise<void> {
    try {
      await this.#flusher.run(() => this.#usage.setSpend(digest, { ...this.spendOf(digest), spend }));
    } catch (error) {
      throw new StoreUnavailable(`the spend cannot be stored: ${fileReason(error)}`, { cause: error });
    }
  }

  addUsage(usage: RequestUsage): void {
    const { key: digest, cost } = usage;
    this.#usage.addRequest(usage);
    const key = digest === null ? undefined : this.keys.get(digest);
    if (digest !== null && key !== undefined && cost > 0) this.#usage.addCost(digest, cost, key.budgetDuration);
  }

  async *usageByDay(from: string, to: string): AsyncGenerator<readonly UsageRow[]> {
    try {
      await this.#flusher.flush();
      yield* this.#usage.read(from, to);
    } catch (error) {
      throw new StoreUnavailable(`reading the usage: ${fileReason(error)}`, { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#flusher.close();
    await this.shared.close();
  }
}
