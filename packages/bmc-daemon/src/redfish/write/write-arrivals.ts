/**
 * Holds writes before the service verifies their credentials, so that thousands of new connections do not
 * delay reads. The event loop accepts one connection in a turn. A read behind 2,000 new connections waits
 * for all of them, and so for all work of the service in these turns.
 */

/**
 * Number of held writes that continue in one turn of the event loop. Each costs about 0.1 ms before it
 * enters the queue of writes.
 */
const AT_ONCE = 8;
/**
 * Time in milliseconds after which held writes continue even if more writes arrive in each turn.
 * Including all later steps, eight writes take 40 ms on a busy computer, and delay new connections for this
 * time.
 */
const MAX_PAUSE_MS = 200;

/** The writes that have arrived and are held. They continue in the order of their arrival. */
export class WriteArrivals {
  readonly #now: () => number;
  readonly #held: (() => void)[] = [];
  /** Whether a write arrived shortly before. New writes are then held, and the end of each turn is watched. */
  #isWatchingTurns = false;
  /** Whether a write arrived in the current turn of the event loop. */
  #arrived = false;
  #lastRelease = -Infinity;

  /** @param now a monotonic clock in milliseconds. */
  constructor(now = (): number => performance.now()) {
    this.#now = now;
  }

  /**
   * Holds a write. {@link AT_ONCE} held writes continue after each turn of the event loop in which no other
   * write arrives. They also continue after {@link MAX_PAUSE_MS} without such a turn.
   * @returns undefined for a write that may continue at once, because no other write arrived shortly before.
   */
  hold(): Promise<void> | undefined {
    this.#arrived = true;
    if (this.#isWatchingTurns) return new Promise((resolve) => this.#held.push(resolve));
    this.#isWatchingTurns = true;
    this.#lastRelease = this.#now();
    setImmediate(() => this.#endTurn());
    return undefined;
  }

  #endTurn(): void {
    const now = this.#now();
    const isQuiet = !this.#arrived;
    if (isQuiet && this.#held.length === 0) {
      this.#isWatchingTurns = false;
      return;
    }
    if (isQuiet || now - this.#lastRelease >= MAX_PAUSE_MS) {
      this.#lastRelease = now;
      for (const release of this.#held.splice(0, AT_ONCE)) release();
    }
    this.#arrived = false;
    setImmediate(() => this.#endTurn());
  }
}
