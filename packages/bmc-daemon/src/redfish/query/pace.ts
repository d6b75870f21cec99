/** Lets other requests run between the steps of long answers. */

/** Maximum time for all long answers together in one turn of the event loop, in milliseconds. */
const sliceMs = 10;

/**
 * Limits the time of all long answers in one turn of the event loop. A long answer calls `step`
 * after each small step.
 */
export class Pace {
  readonly #now: () => number;
  #turnStart: number | undefined;
  #nextTurn: Promise<void> | undefined;

  /** @param now a monotonic clock in milliseconds. */
  constructor(now = (): number => performance.now()) {
    this.#now = now;
  }

  /**
   * Resolves at once while this turn has time left, otherwise in the next turn, after other events.
   */
  async step(): Promise<void> {
    const now = this.#now();
    if (this.#turnStart === undefined) {
      this.#turnStart = now;
      // Resets `#turnStart` when the next turn starts, so that every turn has the full time.
      void this.#waitForNextTurn();
    }
    if (now - this.#turnStart >= sliceMs) await this.#waitForNextTurn();
  }

  #waitForNextTurn(): Promise<void> {
    this.#nextTurn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#nextTurn = undefined;
        this.#turnStart = undefined;
        resolve();
      });
    });
    return this.#nextTurn;
  }
}
