/**
 * The store of several proxies: Redis. Each proxy has a copy of the keys in memory, so requests do not
 * wait for Redis. Without Redis, the keys stay valid and the usage stays in memory.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { openSharedStore, type SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { periodAt } from '../budget-periods.js';
import { storedKey, type StoredKey } from '../keys.js';
import { StoreError, type KeyChanges, type KeysInChange, type SharedKeyStore } from '../store.js';
import type { RequestUsage, UsageRow } from '../usage.js';
import { RedisUsage } from './redis-usage.js';

/** Options of {@link openRedisStore}. */
interface RedisStoreOptions {
  /** `redis://user:password@host:6379/0`, or `rediss:` for TLS. */
  readonly url: string;
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** How many days the usage is stored; null: without end. */
  readonly keepDays: number | null;
}

const KEY = 'key';
const ALIAS = 'alias';
const FLUSH_MS = 500;
/** Redis is read once a second. After this time without a read, it counts as unavailable. */
const MAX_SILENCE_MS = 5000;
const MAX_ATTEMPTS = 10;

/** Connects to the store. @throws {StoreError} Redis does not answer. */
export async function openRedisStore(options: RedisStoreOptions): Promise<SharedKeyStore> {
  try {
    return new SharedKeys(await openSharedStore(options.url, 'model-proxy', options.log), options);
  } catch (error) {
    if (error instanceof StoreUnavailable) throw new StoreError(error.message, { cause: error });
    throw error;
  }
}

class SharedKeys implements SharedKeyStore {
  readonly shared: SharedStore;
  readonly keys = new Map<string, StoredKey>();
  keysRevision = 0;
  /** Revisions of the copied keys. */
  readonly #revisions = new Map<string, number>();
  readonly #log: RedisStoreOptions['log'];
  readonly #usage: RedisUsage;
  readonly #closing = new AbortController();
  readonly #flushing: Promise<void>;
  #hasFailed = false;
  /** The last successful read, by the monotonic clock. */
  #readAt = performance.now();

  get isAvailable(): boolean {
    return !this.#hasFailed && performance.now() - this.#readAt < MAX_SILENCE_MS;
  }

  constructor(shared: SharedStore, { log, keepDays }: RedisStoreOptions) {
    this.shared = shared;
    this.#log = log;
    this.#usage = new RedisUsage(shared, keepDays);
    this.#load();
    shared.onChange(() => this.#load());
    shared.onBeat(() => (this.#readAt = performance.now()));
    this.#flushing = this.#flushAlways();
  }

  /** Copies the keys that have changed. */
  #load(): void {
    const present = new Set<string>();
    for (const { id, revision, value } of this.shared.list(KEY)) {
      present.add(id);
      if (this.#revisions.get(id) === revision) continue;
      this.#revisions.set(id, revision);
      const { data } = storedKey.safeParse(value);
      if (data !== undefined) this.keys.set(id, data);
      else {
        this.keys.delete(id);
        this.#log.error(`the key ${id} has a form that this version cannot read: it is not valid here`);
      }
    }
    for (const id of this.#revisions.keys()) {
      if (present.has(id)) continue;
      this.#revisions.delete(id);
      this.keys.delete(id);
    }
    this.keysRevision += 1;
  }

  async changeKeys<Result>(
    change: (keys: KeysInChange) => { readonly changes: KeyChanges; readonly result: Result },
  ): Promise<Result> {
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      await this.shared.sync();
      const { changes, result } = change(this.#view());
      if (changes.size === 0 || (await this.shared.commit(this.#commitOf(changes)))) return result;
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

  spendOf(digest: string) {
    const duration = this.keys.get(digest)?.budgetDuration ?? null;
    const period = periodAt({ spend: 0, resetAt: null }, duration, this.shared.now());
    return { ...period, spend: this.#usage.spendOf(digest, period.resetAt) };
  }

  setSpend(digest: string, spend: number): void {
    this.#usage.setSpend(digest, this.spendOf(digest).resetAt, spend);
  }

  addUsage(usage: RequestUsage): void {
    const resetAt = usage.key === null || usage.cost === 0 ? null : this.spendOf(usage.key).resetAt;
    this.#usage.add(usage, resetAt);
  }

  async readUsage(from: string, to: string): Promise<readonly UsageRow[]> {
    try {
      await this.#usage.flush();
      return await this.#usage.read(from, to);
    } catch (error) {
      throw new StoreUnavailable(`reading the usage: ${String(error)}`, { cause: error });
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#flushing;
    await this.#flush();
    await this.shared.close();
  }

  async #flushAlways(): Promise<void> {
    const { signal } = this.#closing;
    for (;;) {
      await delay(FLUSH_MS, undefined, { ref: false, signal }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#flush();
    }
  }

  /** Stores what has changed. A failure is logged once. The next flush tries again. */
  async #flush(): Promise<void> {
    try {
      await this.#usage.flush();
      if (this.#hasFailed) this.#log.info('the usage can be stored again');
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#log.warn(`the usage cannot be stored, and stays in memory: ${String(error)}`);
      this.#hasFailed = true;
    }
  }
}
