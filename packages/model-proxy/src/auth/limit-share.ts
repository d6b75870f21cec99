/**
 * The share that this proxy has of the limits of one key.
 *
 * Several proxies apply the limits of a key together, by this protocol. For the workers of a group, the first process
 * takes the place of Redis.
 *
 * 1. A proxy sends a *report* to Redis: for each limit, what it has used, what its waiting requests
 *    need, and what it wants in reserve for the next requests.
 * 2. Redis answers with a *grant*: the share of this proxy, and the sum of the other shares. A share
 *    contains what is used. All shares together never exceed the limit. Exception: running requests may
 *    use more tokens than were left.
 * 3. The proxy admits requests from its share without asking Redis. It reports again when the share is
 *    used up, and about once a second, at the *heartbeat* of the shared store.
 *
 * Requests and tokens are counted for a minute, which Redis begins and ends for all proxies. Parallel
 * requests are counted as long as they run.
 */
import type { StoredKey } from '../store/keys.js';
import { limitTypes, limitsOf, noCounts, reachedLimit, WINDOW_MS, type Counts } from './key-limits.js';
import type { LimitType } from '../errors/access.js';

/** Numbers of a key in the answer of `shareScript`. */
export const NUMBERS_PER_GRANT = 8;
/** The clocks of this proxy and of Redis may drift apart by this much in a minute. */
const CLOCK_MARGIN_MS = 20;

/** A share of the limits of one key. Requests use it without waiting for Redis. */
export class LimitShare {
  /** The use by this proxy: requests and tokens in the minute, and requests in progress. */
  readonly used: Counts = noCounts();
  /** The stored key, whose limits apply. If the caller replaces it, the caller must report. */
  stored: StoredKey;
  /** Whether a report is on its way. Until the grant arrives, requests wait and the share does not change. */
  isReporting = false;
  /**
   * A limit of which the last grant left nothing. Until the next heartbeat or the next minute, the proxy rejects
   * requests at once, and sends no report for them.
   */
  refused: LimitType | undefined;
  /** The share, and the sum of the shares of all other proxies, by the last grant. */
  #granted: Counts = noCounts();
  #grantedToOthers: Counts = noCounts();
  /** The minute that the counts are about: its end by the clock of Redis, in ms; 0: not known yet. */
  #minute = 0;
  /** The end of the minute by the monotonic clock of this proxy, in ms. */
  #minuteEndsAt: number;
  /** The reserve of parallel requests in the last grant. */
  #parallelReserve = 0;
  /** The use since the last heartbeat. */
  #sinceHeartbeat: Counts = noCounts();
  /** The use between the last heartbeat and the one before. */
  #beforeHeartbeat: Counts = noCounts();
  /** The numbers of the last report. */
  #reported = { used: noCounts(), waiting: 0 };

  constructor(stored: StoredKey, now: number) {
    this.stored = stored;
    this.#minuteEndsAt = now + WINDOW_MS;
  }

  /** Begins a new minute, if the present one is over. */
  refresh(now: number): void {
    // The grant will be about the minute of the report, so the next minute begins only after the grant.
    if (now < this.#minuteEndsAt || this.isReporting) return;
    this.#minuteEndsAt = now + WINDOW_MS;
    this.#minute = 0;
    this.refused = undefined;
    for (const type of ['requests', 'tokens'] as const)
      this.used[type] = this.#granted[type] = this.#grantedToOthers[type] = 0;
  }

  /** Returns the milliseconds until the next minute of the key. */
  waitMs(now: number): number {
    return this.#minuteEndsAt - now;
  }

  /**
   * Returns the first limit that is used up, if any.
   * @param scope `share`: what Redis granted. `key`: the whole limits, for a proxy that cannot reach Redis.
   */
  usedUp(scope: 'share' | 'key'): LimitType | undefined {
    const limits = limitsOf(this.stored);
    return reachedLimit(this.used, limits, scope === 'key' ? limits : this.#granted);
  }

  /** Counts the start of a request. */
  begin(): void {
    const { used } = this;
    const recent = this.#sinceHeartbeat;
    used.requests += 1;
    used.max_parallel_requests += 1;
    recent.requests += 1;
    recent.max_parallel_requests = Math.max(recent.max_parallel_requests, used.max_parallel_requests);
  }

  /** Counts the end of a request, and its tokens. */
  end(tokens: number): void {
    this.used.max_parallel_requests = Math.max(0, this.used.max_parallel_requests - 1);
    this.use(tokens);
  }

  /** Counts tokens. */
  use(tokens: number): void {
    this.used.tokens += tokens;
    this.#sinceHeartbeat.tokens += tokens;
  }

  /**
   * Whether the proxy must report before the next heartbeat: it has used more tokens than granted, or
   * many parallel requests of its share are unused, and other proxies may need them. Twice the reserve
   * may stay unused, so that a varying number of requests does not cause a report each time.
   */
  get mustReport(): boolean {
    const { tpmLimit, maxParallelRequests } = this.stored;
    const unused = this.#granted.max_parallel_requests - this.used.max_parallel_requests;
    return (
      (maxParallelRequests !== null && unused > 2 * this.#parallelReserve) ||
      (tpmLimit !== null && this.used.tokens > this.#granted.tokens)
    );
  }

  /** Returns what is left of a limit of the key, as far as this proxy knows; null: the key has no such limit. */
  left(type: 'requests' | 'tokens'): number | null {
    const limit = limitsOf(this.stored)[type];
    return limit === null ? null : Math.max(0, limit - this.#grantedToOthers[type] - this.used[type]);
  }

  /**
   * Begins the next interval between two heartbeats.
   * @returns what the caller must do. `report`: the share is in use, or Redis can take an unused part back.
   * `keep`: nothing to report, but the counts still apply. `forget`: nothing was used recently or in this minute.
   */
  heartbeat(now: number): 'report' | 'keep' | 'forget' {
    this.refresh(now);
    this.refused = undefined;
    const isInUse = isAny(this.#sinceHeartbeat) || this.used.max_parallel_requests > 0;
    this.#beforeHeartbeat = this.#sinceHeartbeat;
    this.#sinceHeartbeat = noCounts();
    const hasUnused = limitTypes.some((type) => this.#granted[type] > this.used[type]);
    if (isInUse || hasUnused) return 'report';
    return isAny(this.used) || isAny(this.#beforeHeartbeat) ? 'keep' : 'forget';
  }

  /**
   * Makes a report.
   * @param waiting the number of requests that wait for the grant.
   * @returns the arguments of `shareScript` for this key.
   */
  report(digest: string, waiting: number): string[] {
    const limits = limitsOf(this.stored);
    this.isReporting = true;
    this.#reported = { used: { ...this.used }, waiting };
    const numbers = limitTypes.flatMap((type) => {
      // The tokens of a request are known at its end. So a request may begin if one token is left.
      const needed = type === 'tokens' ? Math.min(1, waiting) : waiting;
      const reserve = Math.max(this.#sinceHeartbeat[type], this.#beforeHeartbeat[type]);
      return [limits[type] ?? '', this.used[type], needed, reserve];
    });
    return [digest, this.#minute === 0 ? '' : this.#minute, ...numbers].map(String);
  }

  /** Applies the grant that answers the last report. @param numbers in the order of `shareScript`. */
  grant([minute = 0, waitMs = 0, ...numbers]: readonly number[], now: number): void {
    const { used, waiting } = this.#reported;
    this.isReporting = false;
    if (this.#minute !== 0 && this.#minute !== minute) {
      // Redis has begun another minute. Only the use since the report belongs to it.
      for (const type of ['requests', 'tokens'] as const) this.used[type] -= used[type];
      used.tokens = 0;
    }
    this.#minute = minute;
    // This proxy ends the minute later than Redis. So its first report afterwards, which names no
    // minute, does not arrive in the old one.
    this.#minuteEndsAt = now + waitMs + CLOCK_MARGIN_MS;
    for (const [index, type] of limitTypes.entries()) {
      this.#granted[type] = numbers[index * 2] ?? 0;
      this.#grantedToOthers[type] = numbers[index * 2 + 1] ?? 0;
    }
    // The grant contains the tokens of the report, and tokens for the waiting requests. Requests that
    // have ended since the report must not use the tokens for the waiting requests.
    this.#granted.tokens += this.used.tokens - used.tokens;
    this.#parallelReserve = Math.max(0, this.#granted.max_parallel_requests - used.max_parallel_requests - waiting);
  }
}

const isAny = (counts: Counts): boolean => limitTypes.some((type) => counts[type] > 0);
