/**
 * Slows down a client that tries many passwords. The first attempts are free. After each further
 * attempt, the next one must wait for a time (the gap) that doubles up to a limit.
 */

/** The limits of a pace. A gap is the minimum time between two attempts. */
export interface PaceLimits {
  /** Number of attempts that start no gap. So one more attempt also begins without a delay. */
  readonly free: number;
  /**
   * The gap after the first attempt that is not free, in milliseconds. It doubles with each further
   * attempt.
   */
  readonly firstGapMs: number;
  readonly maxGapMs: number;
}

/**
 * Counts the attempts of one address, or of one user name from one address, and returns when the
 * next may begin.
 */
export class AttemptPace {
  readonly #limits: PaceLimits;
  #count = 0;
  #nextAt = 0;

  constructor(limits: PaceLimits) {
    this.#limits = limits;
  }

  /** When the next attempt may begin, in milliseconds of the caller's clock. */
  get nextAt(): number {
    return this.#nextAt;
  }

  /** Whether the next attempt is one of the free ones. */
  get isFree(): boolean {
    return this.#count < this.#limits.free;
  }

  /**
   * Counts an attempt that begins now.
   * @returns a function that undoes the count after a right password. Call it before the next
   *   attempt.
   */
  take(now: number): () => void {
    const { free, firstGapMs, maxGapMs } = this.#limits;
    const oldNextAt = this.#nextAt;
    this.#count += 1;
    const beyond = this.#count - free;
    // 2 ** 30 exceeds every gap.
    const gap = beyond <= 0 ? 0 : Math.min(maxGapMs, firstGapMs * 2 ** Math.min(30, beyond - 1));
    this.#nextAt = now + gap;
    return () => {
      this.#count = Math.max(0, this.#count - 1);
      this.#nextAt = oldNextAt;
    };
  }

  /** Forgets every attempt. */
  clear(): void {
    this.#count = 0;
    this.#nextAt = 0;
  }
}
