/** The share that this proxy has of the limits of a key. */
import type { StoredKey } from '../store/keys.js';
import { limitTypes, limitsOf, noCounts, reachedLimit, WINDOW_MS, type Counts } from './key-limits.js';
import type { LimitType } from '../errors/access.js';

/** Numbers of a key in the answer of `shareScript`. */
export const NUMBERS_OF_ANSWER = 8;
/** The clocks of this proxy and of Redis may differ by this much in a minute. */
const CLOCK_MARGIN_MS = 20;

/** A share. Requests use it without waiting for Redis. */
export class LimitShare {
  /** What this proxy has used: requests and tokens in the minute, and requests in progress. */
  readonly used: Counts = noCounts();
  /** The stored key when Redis gave the share. Other limits need another share. */
  stored: StoredKey;
  /** A statement about this share is on its way. The share must not be used until its answer. */
  isStated = false;
  /** The limit that was reached when Redis answered last, until the next beat. */
  reached: LimitType | undefined;
  #granted: Counts = noCounts();
  #others: Counts = noCounts();
  /** The end of the minute by Redis's clock, which identifies the minute; 0: not known yet. */
  #window = 0;
  /** The same by the monotonic clock of this proxy. */
  #endsAt: number;
  /** The parallel requests that Redis gave ahead. Twice as many may stay unused, so that their number can vary. */
  #spare = 0;
  /** Use since the last beat, and between the two beats before. */
  #recent: Counts = noCounts();
  #before: Counts = noCounts();
  #inStatement = { used: noCounts(), waiting: 0 };

  constructor(stored: StoredKey, now: number) {
    this.stored = stored;
    this.#endsAt = now + WINDOW_MS;
  }

  /** Begins a new minute, if the present one is over. */
  refresh(now: number): void {
    // The answer to a statement is about the numbers of the statement.
    if (now < this.#endsAt || this.isStated) return;
    this.#endsAt = now + WINDOW_MS;
    this.#window = 0;
    this.reached = undefined;
    for (const type of ['requests', 'tokens'] as const) this.used[type] = this.#granted[type] = this.#others[type] = 0;
  }

  /** Returns the milliseconds until the next minute of the key. */
  waitMs(now: number): number {
    return this.#endsAt - now;
  }

  /** Returns the limit of this share that is reached. @param isAlone the proxy uses the whole limits of the key. */
  full(isAlone: boolean): LimitType | undefined {
    const limits = limitsOf(this.stored);
    return reachedLimit(this.used, limits, isAlone ? limits : this.#granted);
  }

  /** Counts the start of a request. */
  begin(): void {
    this.used.requests += 1;
    this.used.max_parallel_requests += 1;
    this.#recent.requests += 1;
    this.#recent.max_parallel_requests = Math.max(this.#recent.max_parallel_requests, this.used.max_parallel_requests);
  }

  /** Counts the end of a request. */
  end(tokens: number): void {
    this.used.max_parallel_requests = Math.max(0, this.used.max_parallel_requests - 1);
    this.used.tokens += tokens;
    this.#recent.tokens += tokens;
  }

  /** Whether Redis must know the numbers at once: parallel requests to return, or more tokens than granted. */
  get isUrgent(): boolean {
    const { tpmLimit, maxParallelRequests } = this.stored;
    const unused = this.#granted.max_parallel_requests - this.used.max_parallel_requests;
    return (
      (maxParallelRequests !== null && unused > 2 * this.#spare) ||
      (tpmLimit !== null && this.used.tokens > this.#granted.tokens)
    );
  }

  /** Returns what is left of a limit of the key, as far as this proxy knows. */
  left(type: 'requests' | 'tokens'): number | null {
    const limit = limitsOf(this.stored)[type];
    return limit === null ? null : Math.max(0, limit - this.#others[type] - this.used[type]);
  }

  /**
   * Ends the time between two beats. @returns `idle`: the share can be forgotten; `quiet`: Redis
   * knows its numbers.
   */
  beat(now: number): 'idle' | 'quiet' | 'busy' {
    this.refresh(now);
    this.reached = undefined;
    const isInUse = isAny(this.#recent) || this.used.max_parallel_requests > 0;
    this.#before = this.#recent;
    this.#recent = noCounts();
    const hasUnused = limitTypes.some((type) => this.#granted[type] > this.used[type]);
    if (isInUse || hasUnused) return 'busy';
    return isAny(this.used) || isAny(this.#before) ? 'quiet' : 'idle';
  }

  /** Returns the words of a statement, in the order of `shareScript`. */
  statement(digest: string, waiting: number): string[] {
    const limits = limitsOf(this.stored);
    this.isStated = true;
    this.#inStatement = { used: { ...this.used }, waiting };
    const words = limitTypes.flatMap((type) => {
      // The tokens of a request are not known before its end: it needs one that is left.
      const needed = type === 'tokens' ? Math.min(1, waiting) : waiting;
      const ahead = Math.max(this.#recent[type], this.#before[type]);
      return [limits[type] ?? '', this.used[type], needed, ahead];
    });
    return [digest, this.#window === 0 ? '' : this.#window, ...words].map(String);
  }

  /** Applies an answer to the last statement. @param numbers in the order of `shareScript`. */
  grant([ends = 0, waitMs = 0, ...numbers]: readonly number[], now: number): void {
    const { used, waiting } = this.#inStatement;
    this.isStated = false;
    if (this.#window !== 0 && this.#window !== ends) {
      // Only what happened since the statement belongs to the new minute.
      for (const type of ['requests', 'tokens'] as const) this.used[type] -= used[type];
      used.tokens = 0;
    }
    this.#window = ends;
    // A little late: then the next statement without a minute is surely about the next one.
    this.#endsAt = now + waitMs + CLOCK_MARGIN_MS;
    for (const [index, type] of limitTypes.entries()) {
      this.#granted[type] = numbers[index * 2] ?? 0;
      this.#others[type] = numbers[index * 2 + 1] ?? 0;
    }
    // Requests that ended meanwhile must not use the tokens of those that wait.
    this.#granted.tokens += this.used.tokens - used.tokens;
    this.#spare = Math.max(0, this.#granted.max_parallel_requests - used.max_parallel_requests - waiting);
  }
}

const isAny = (counts: Counts): boolean => limitTypes.some((type) => counts[type] > 0);
