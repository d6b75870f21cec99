/** Rests between requests to a service, so that the requests of the daemon take only a part of its time. */

/** The longest rest, in milliseconds. */
const MAX_REST_MS = 10_000;

/** The time after an answer in which the service should not be asked again. */
export class Rest {
  readonly #perAnswer: number;
  #endedAt = -Infinity;
  #until = -Infinity;

  /** @param perAnswer the rest after a request is this many times its duration, at most {@link MAX_REST_MS}. */
  constructor(perAnswer: number) {
    this.#perAnswer = perAnswer;
  }

  /** The rest that remains, in milliseconds; 0 or less: none. */
  get ms(): number {
    return this.#until - performance.now();
  }

  /** Returns the rest that remains, in milliseconds, when the whole rest is shortened to `maxMs`; 0 or less: none. */
  msWithin(maxMs: number): number {
    return Math.min(this.#until, this.#endedAt + maxMs) - performance.now();
  }

  /** Makes a request. The rest begins when the request ends, also without an answer. */
  async after<T>(request: () => Promise<T>): Promise<T> {
    const begunAt = performance.now();
    try {
      return await request();
    } finally {
      const endedAt = performance.now();
      const rest = Math.min(MAX_REST_MS, (endedAt - begunAt) * this.#perAnswer);
      this.#endedAt = endedAt;
      // A caller that has joined a running request measures only a part of its duration, so the longest rest
      // counts.
      this.#until = Math.max(this.#until, endedAt + rest);
    }
  }
}
