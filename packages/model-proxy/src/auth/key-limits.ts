/** Limits the requests, tokens and parallel requests of virtual keys. */
import { performance } from 'node:perf_hooks';
import { keyLimited, type LimitType } from '../errors/access.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { StoredKey } from '../store/keys.js';
import type { Store } from '../store/store.js';
import type { VirtualKey } from './virtual-key.js';

/** Requests and tokens left to a key in the present minute; null: the key has no such limit. */
export interface Remaining {
  readonly requests: number | null;
  readonly tokens: number | null;
}

/** The limits of all keys. */
export interface KeyLimits {
  /**
   * Admits and counts a request, or rejects it. The caller calls {@link KeyLimits.release} at the end of
   * an admitted request.
   * @param done gets an error with status 429 if the key is at a limit. The request is not counted then.
   */
  admit(key: VirtualKey, done: (refused: ProxyError | undefined) => void): void;
  /** Counts tokens of an admitted request that has not ended. */
  use(key: VirtualKey, tokens: number): void;
  /** Ends a request that was admitted. @param tokens its tokens without those of {@link KeyLimits.use}. */
  release(key: VirtualKey, tokens: number): void;
  /** Returns the requests and tokens left in the present minute. */
  remaining(key: VirtualKey): Remaining;
}

/** Services that check the virtual key of a request, and count its requests and tokens. */
export interface KeyServices {
  readonly store: Store;
  readonly limits: KeyLimits;
}

/** The use of a key, or a share of its limits. `max_parallel_requests`: requests in progress. */
export type Counts = Record<LimitType, number>;

/** Use of a key in its present minute. */
interface Window {
  /** End of the minute, by the monotonic clock. */
  endsAt: number;
  used: Counts;
}

/** Length of the minute. */
export const WINDOW_MS = 60_000;
/** Number of new windows after which {@link sweep} removes old windows. */
const SWEEP_STEP = 10_000;

/**
 * Creates the limits. The caller keeps them when the configuration is reloaded, because they contain the counts. As
 * in LiteLLM, the minute of a key begins with its first request.
 * @param now a clock that never goes back, in milliseconds.
 */
export function createKeyLimits(now: () => number = () => performance.now()): KeyLimits {
  const windows = new Map<string, Window>();
  let sweepAt = SWEEP_STEP;
  const windowOf = (digest: string): Window => {
    const time = now();
    let window = windows.get(digest);
    if (window === undefined) {
      if (windows.size >= sweepAt) sweepAt = sweep(windows, time) + SWEEP_STEP;
      window = { endsAt: time + WINDOW_MS, used: noCounts() };
      windows.set(digest, window);
    } else if (time >= window.endsAt) {
      window.endsAt = time + WINDOW_MS;
      window.used.requests = 0;
      window.used.tokens = 0;
    }
    return window;
  };
  return {
    admit(key, done) {
      if (!isLimited(key)) {
        done(undefined);
        return;
      }
      const { used, endsAt } = windowOf(key.digest);
      const limits = limitsOf(key.stored);
      const reached = reachedLimit(used, limits, limits);
      if (reached !== undefined) {
        done(limitError(key, reached, endsAt - now()));
        return;
      }
      used.requests += 1;
      used.max_parallel_requests += 1;
      done(undefined);
    },
    use(key, tokens) {
      if (isLimited(key)) windowOf(key.digest).used.tokens += tokens;
    },
    release(key, tokens) {
      if (!isLimited(key)) return;
      const { used } = windowOf(key.digest);
      used.max_parallel_requests = Math.max(0, used.max_parallel_requests - 1);
      used.tokens += tokens;
    },
    remaining(key) {
      const { requests, tokens } = limitsOf(key.stored);
      if (requests === null && tokens === null) return UNLIMITED;
      const { used } = windowOf(key.digest);
      return {
        requests: requests === null ? null : Math.max(0, requests - used.requests),
        tokens: tokens === null ? null : Math.max(0, tokens - used.tokens),
      };
    },
  };
}

/** The remaining amounts of a key without limits. */
export const UNLIMITED: Remaining = { requests: null, tokens: null };
/** The limits in the order in which they are checked. */
export const limitTypes: readonly LimitType[] = ['requests', 'tokens', 'max_parallel_requests'];

/** Returns counts of zero. */
export function noCounts(): Counts {
  return { requests: 0, tokens: 0, max_parallel_requests: 0 };
}

/** The limits of a key; null: none. */
type Limits = Readonly<Record<LimitType, number | null>>;

/** Returns the limits of a key by their types. */
export function limitsOf({ rpmLimit, tpmLimit, maxParallelRequests }: StoredKey): Limits {
  return { requests: rpmLimit, tokens: tpmLimit, max_parallel_requests: maxParallelRequests };
}

/**
 * Returns the first limit that the use has reached; undefined: none.
 * @param limits the limits of the key; null: not checked.
 * @param bounds the use at which a limit counts as reached: the limit itself, or the share of a proxy.
 */
export function reachedLimit(used: Counts, limits: Limits, bounds: Limits): LimitType | undefined {
  return limitTypes.find((type) => limits[type] !== null && used[type] >= (bounds[type] ?? 0));
}

/** Makes the error for a key at a limit. @param waitMs time until the end of its minute. */
export function limitError({ digest, stored }: VirtualKey, type: LimitType, waitMs: number): ProxyError {
  // A parallel request may end at any time, so the client need not wait for the end of the minute.
  const wait = type === 'max_parallel_requests' ? 0 : waitMs;
  return keyLimited(digest, {
    type,
    limit: limitsOf(stored)[type] ?? 0,
    resetAt: Date.now() + wait,
    retryAfterSeconds: Math.max(1, Math.ceil(wait / 1000)),
  });
}

/** Returns whether a key has a limit. */
export function isLimited({ stored }: VirtualKey): boolean {
  return stored.rpmLimit !== null || stored.tpmLimit !== null || stored.maxParallelRequests !== null;
}

/** Removes the windows that have ended and have no request in progress. @returns the number of remaining windows. */
function sweep(windows: Map<string, Window>, time: number): number {
  for (const [digest, { endsAt, used }] of windows)
    if (used.max_parallel_requests === 0 && time >= endsAt) windows.delete(digest);
  return windows.size;
}
