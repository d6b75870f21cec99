/** Lets the requests of others come between the steps of long answers. */

/** Work of long answers in one turn of the event loop, all of them together, in milliseconds. */
const sliceMs = 10;

/**
 * The time that all long answers of a process may use in one turn of the event loop. A long answer asks after each small step
 * whether it goes on in this turn.
 */
export class Pace {
  readonly #now: () => number;
  #began: number | undefined;
  #nextTurn: Promise<void> | undefined;

  /** @param now milliseconds that only go forward. */
  constructor(now = (): number => performance.now()) {
    this.#now = now;
  }

  /** Resolves in this turn while it has time left, otherwise in the next one, when what came in meanwhile has been handled. */
  async step(): Promise<void> {
    const now = this.#now();
    if (this.#began === undefined) {
      this.#began = now;
      // A turn that ends before its time is used up begins anew.
      void this.#turn();
    }
    if (now - this.#began >= sliceMs) await this.#turn();
  }

  #turn(): Promise<void> {
    this.#nextTurn ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#nextTurn = undefined;
        this.#began = undefined;
        resolve();
      });
    });
    return this.#nextTurn;
  }
}
