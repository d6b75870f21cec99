/** Limits the requests, tokens and parallel requests of virtual keys. */
import { performance } from 'node:perf_hooks';
import { keyLimited, type LimitType } from '../errors/access.js';
import type { ProxyError } from '../errors/proxy-error.js';
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
   * Counts a request. The caller calls {@link KeyLimits.release} at its end.
   * @param done gets an error with status 429 if the key is at a limit. Do not send the request then.
   */
  admit(key: VirtualKey, done: (refused: ProxyError | undefined) => void): void;
  /** Ends a request that was admitted. @param tokens its tokens. */
  release(key: VirtualKey, tokens: number): void;
  /** Returns the requests and tokens left in the present minute. */
  remaining(key: VirtualKey): Remaining;
}

/** Services that check and count the virtual keys of requests. */
export interface KeyServices {
  readonly store: Store;
  readonly limits: KeyLimits;
}

/** Use of a key in its present minute. */
interface Window {
  /** End of the minute, by the monotonic clock. */
  endsAt: number;
  requests: number;
  tokens: number;
  /** Requests in progress. */
  running: number;
}

const WINDOW_MS = 60_000;
/** Removes old windows when there are this many more than after the last removal. */
const SWEEP_STEP = 10_000;

/**
 * Creates the limits. Keep them over a reload. As in LiteLLM, the minute of a key begins with its first
 * request.
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
      window = { endsAt: time + WINDOW_MS, requests: 0, tokens: 0, running: 0 };
      windows.set(digest, window);
    } else if (time >= window.endsAt) {
      window.endsAt = time + WINDOW_MS;
      window.requests = 0;
      window.tokens = 0;
    }
    return window;
  };
  const refusal = (key: VirtualKey, type: LimitType, limit: number, waitMs: number): ProxyError =>
    keyLimited(key.digest, {
      type,
      limit,
      resetAt: Date.now() + waitMs,
      retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
    });
  return {
    admit(key, done) {
      const { rpmLimit, tpmLimit, maxParallelRequests } = key.stored;
      if (!isLimited(key)) {
        done(undefined);
        return;
      }
      const window = windowOf(key.digest);
      const waitMs = window.endsAt - now();
      if (rpmLimit !== null && window.requests >= rpmLimit) done(refusal(key, 'requests', rpmLimit, waitMs));
      else if (tpmLimit !== null && window.tokens >= tpmLimit) done(refusal(key, 'tokens', tpmLimit, waitMs));
      else if (maxParallelRequests !== null && window.running >= maxParallelRequests)
        done(refusal(key, 'max_parallel_requests', maxParallelRequests, 0));
      else {
        window.requests += 1;
        window.running += 1;
        done(undefined);
      }
    },
    release(key, tokens) {
      if (!isLimited(key)) return;
      const window = windowOf(key.digest);
      window.running = Math.max(0, window.running - 1);
      window.tokens += tokens;
    },
    remaining(key) {
      const { rpmLimit, tpmLimit } = key.stored;
      if (rpmLimit === null && tpmLimit === null) return UNLIMITED;
      const window = windowOf(key.digest);
      return {
        requests: rpmLimit === null ? null : Math.max(0, rpmLimit - window.requests),
        tokens: tpmLimit === null ? null : Math.max(0, tpmLimit - window.tokens),
      };
    },
  };
}

const UNLIMITED: Remaining = { requests: null, tokens: null };

/** Returns whether a key has a limit. */
export function isLimited({ stored }: VirtualKey): boolean {
  return stored.rpmLimit !== null || stored.tpmLimit !== null || stored.maxParallelRequests !== null;
}

/** Removes the windows that have ended. @returns the number of the others. */
function sweep(windows: Map<string, Window>, time: number): number {
  for (const [digest, { endsAt, running }] of windows) if (running === 0 && time >= endsAt) windows.delete(digest);
  return windows.size;
}
