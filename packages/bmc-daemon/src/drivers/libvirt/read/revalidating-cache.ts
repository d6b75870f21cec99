/**
 * A cache for slow requests: it returns the last value and refreshes it in the background, as
 * stale-while-revalidate (RFC 5861) does. Unlike in RFC 5861, a failed refresh removes the value.
 */
import { withDeadline } from '@rackless/daemon/deadline.js';

/** Times of a {@link RevalidatingCache}, in milliseconds. */
interface RevalidatingCacheOptions {
  /** Maximum time that a reader waits if there is no value, or only one older than `staleMs`. */
  readonly waitMs: number;
  /**
   * Age from which on a reader starts a refresh in the background. Readers get the old value until the new one
   * is there.
   */
  readonly freshMs: number;
  /** Age from which on the cache no longer returns a value. */
  readonly staleMs: number;
  /** Pause after a failure. It doubles with each further failure, up to 16 times this value. */
  readonly retryMs: number;
  /** Milliseconds of a monotonic clock. Default: performance.now. */
  readonly now?: () => number;
}

interface Entry<Value> {
  value: Value | undefined;
  updatedAt: number;
  refreshAt: number;
  failures: number;
  request: Promise<void> | undefined;
}

/** The last value by key. {@link RevalidatingCache.retain} removes old keys. */
export class RevalidatingCache<Value> {
  readonly #options: RevalidatingCacheOptions;
  readonly #now: () => number;
  readonly #entries = new Map<string, Entry<Value>>();

  constructor(options: RevalidatingCacheOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Returns the last value, even if it is older than `freshMs`. Returns undefined if there is no value, or if
   * it is older than `staleMs` and no new value arrived in time. After a failed request, does not wait for
   * the next one. Never rejects.
   * @param request called if the value is missing or older than `freshMs`, no request is running, and the
   *   pause after a failure is over.
   */
  async get(key: string, request: () => Promise<Value>): Promise<Value | undefined> {
    const entry = this.#entries.get(key) ?? {
      value: undefined,
      updatedAt: 0,
      refreshAt: 0,
      failures: 0,
      request: undefined,
    };
    this.#entries.set(key, entry);
    if (this.#now() >= entry.updatedAt + this.#options.staleMs) entry.value = undefined;
    if (entry.request === undefined && this.#now() >= entry.refreshAt) this.#refresh(entry, request);
    // Does not wait for the retry of a failed request.
    if (entry.value === undefined && entry.failures === 0 && entry.request !== undefined) {
      await withDeadline(entry.request, this.#options.waitMs, () => undefined);
    }
    return entry.value;
  }

  /** Removes the keys for which `isKey` returns false. */
  retain(isKey: (key: string) => boolean): void {
    for (const key of this.#entries.keys()) if (!isKey(key)) this.#entries.delete(key);
  }

  #refresh(entry: Entry<Value>, request: () => Promise<Value>): void {
    const { freshMs, retryMs } = this.#options;
    entry.request = request()
      .then(
        (value) => {
          entry.value = value;
          entry.failures = 0;
          entry.updatedAt = this.#now();
          entry.refreshAt = this.#now() + freshMs;
        },
        () => {
          // Drops the old value. For example, the addresses from a guest agent are not valid anymore
          // after the agent has ended.
          entry.value = undefined;
          entry.failures += 1;
          entry.refreshAt = this.#now() + retryMs * 2 ** Math.min(entry.failures - 1, 4);
        },
      )
      .finally(() => {
        entry.request = undefined;
      });
  }
}
