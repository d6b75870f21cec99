/**
 * Limits of virtual keys that several proxies share. Redis counts, so the limits are exact. All requests
 * of the same turn of the event loop share a call.
 */
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { keyLimited, type LimitType } from '../errors/access.js';
import type { ProxyError } from '../errors/proxy-error.js';
import { admitScript, releaseScript } from '../store/redis/usage-scripts.js';
import { isLimited, type KeyLimits, type Remaining } from './key-limits.js';
import type { VirtualKey } from './virtual-key.js';

interface Waiting {
  readonly key: VirtualKey;
  readonly done: (refused: ProxyError | undefined) => void;
}

const types: readonly LimitType[] = ['requests', 'tokens', 'max_parallel_requests'];
/** Without an answer for this time, the proxy uses limits of its own. */
const PATIENCE_MS = 500;
/** Numbers in the answer of admitScript for each request: rejected limit, wait, requests, tokens. */
const NUMBERS_OF_ANSWER = 4;

/**
 * Creates the limits.
 * @param local limits of this proxy alone, while Redis does not answer.
 */
export function createSharedLimits(shared: SharedStore, local: KeyLimits, log: Pick<Log, 'info' | 'warn'>): KeyLimits {
  return new SharedLimits(shared, local, log);
}

class SharedLimits implements KeyLimits {
  readonly #shared: SharedStore;
  readonly #local: KeyLimits;
  readonly #log: Pick<Log, 'info' | 'warn'>;
  #waiting: Waiting[] = [];
  #released: string[] = [];
  #isScheduled = false;
  /** Whether Redis has not answered the last call. */
  #isAway = false;
  /** Requests and tokens left to keys at their last request. */
  readonly #left = new WeakMap<VirtualKey, Remaining>();
  /**
   * Running requests that Redis has counted, by the digest of the key. The local limits have counted
   * all others.
   */
  readonly #counted = new Map<string, number>();

  constructor(shared: SharedStore, local: KeyLimits, log: Pick<Log, 'info' | 'warn'>) {
    this.#shared = shared;
    this.#local = local;
    this.#log = log;
  }

  admit(key: VirtualKey, done: Waiting['done']): void {
    if (!isLimited(key)) {
      done(undefined);
      return;
    }
    this.#waiting.push({ key, done });
    this.#schedule();
  }

  release(key: VirtualKey, tokens: number): void {
    if (!isLimited(key)) return;
    const counted = this.#counted.get(key.digest) ?? 0;
    if (counted === 0) {
      this.#local.release(key, tokens);
      return;
    }
    if (counted === 1) this.#counted.delete(key.digest);
    else this.#counted.set(key.digest, counted - 1);
    const isParallel = key.stored.maxParallelRequests !== null;
    this.#released.push(key.digest, String(tokens), isParallel ? this.#shared.replica : '');
    this.#schedule();
  }

  remaining(key: VirtualKey): Remaining {
    return this.#left.get(key) ?? this.#local.remaining(key);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      const released = this.#released;
      const waiting = this.#waiting;
      this.#released = [];
      this.#waiting = [];
      if (released.length > 0) this.#shared.run(releaseScript, ['limit:'], released).catch(() => undefined);
      if (waiting.length > 0) void this.#ask(waiting);
    });
  }

  async #ask(waiting: readonly Waiting[]): Promise<void> {
    const words = waiting.flatMap(({ key: { digest, stored } }) => [
      digest,
      ...[stored.rpmLimit, stored.tpmLimit, stored.maxParallelRequests].map((limit) =>
        limit === null ? '' : String(limit),
      ),
      this.#shared.replica,
    ]);
    let answer: readonly number[];
    try {
      answer = z.array(z.number()).parse(await inTime(this.#shared.run(admitScript, ['limit:', 'replica:'], words)));
    } catch (error) {
      if (!this.#isAway)
        this.#log.warn(`each proxy applies the limits of keys by itself until Redis answers: ${String(error)}`);
      this.#isAway = true;
      for (const { key, done } of waiting) this.#local.admit(key, done);
      return;
    }
    if (this.#isAway) this.#log.info('Redis answers again: all proxies apply the limits of keys together');
    this.#isAway = false;
    for (const [index, one] of waiting.entries())
      this.#apply(one, answer.slice(index * NUMBERS_OF_ANSWER, (index + 1) * NUMBERS_OF_ANSWER));
  }

  #apply({ key, done }: Waiting, [refused = 0, waitMs = 0, requests = 0, tokens = 0]: readonly number[]): void {
    const { rpmLimit, tpmLimit, maxParallelRequests } = key.stored;
    this.#left.set(key, {
      requests: rpmLimit === null ? null : Math.max(0, rpmLimit - requests),
      tokens: tpmLimit === null ? null : Math.max(0, tpmLimit - tokens),
    });
    const type = types[refused - 1];
    if (type === undefined) {
      this.#counted.set(key.digest, (this.#counted.get(key.digest) ?? 0) + 1);
      done(undefined);
      return;
    }
    const limit = { requests: rpmLimit, tokens: tpmLimit, max_parallel_requests: maxParallelRequests }[type] ?? 0;
    const wait = type === 'max_parallel_requests' ? 0 : waitMs;
    done(
      keyLimited(key.digest, {
        type,
        limit,
        resetAt: Date.now() + wait,
        retryAfterSeconds: Math.max(1, Math.ceil(wait / 1000)),
      }),
    );
  }
}

async function inTime<Value>(value: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`the shared store has not answered within ${PATIENCE_MS} ms`)),
      PATIENCE_MS,
    );
  });
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
  }
}
