/**
 * A queue between a source that pushes and a loop that pulls. Whoever made it stops the source in `onEnd`.
 */
export class EventIterator<T> implements AsyncIterableIterator<T, undefined> {
  readonly #queue: T[] = [];
  readonly #waiting: {
    readonly resolve: (result: IteratorResult<T, undefined>) => void;
    readonly reject: (error: unknown) => void;
  }[] = [];
  readonly #maxQueued: number;
  readonly #onEnd: () => void;
  #ended = false;
  #failure: { readonly error: unknown } | undefined;

  /**
   * @param maxQueued events that may wait for the consumer; one more ends the iteration with an error.
   * @param onEnd called once, when the iteration ends for whatever reason.
   */
  constructor(maxQueued: number, onEnd: () => void) {
    this.#maxQueued = maxQueued;
    this.#onEnd = onEnd;
  }

  push(event: T): void {
    if (this.#ended) return;
    const waiter = this.#waiting.shift();
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: event });
      return;
    }
    if (this.#queue.length < this.#maxQueued) this.#queue.push(event);
    else this.fail(new Error(`iterating over events: the consumer is ${this.#maxQueued} events behind`));
  }

  /** Ends the iteration with an error, after what is queued. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#failure = { error };
    this.#end();
  }

  /** Ends the iteration, after what is queued. */
  end(): void {
    this.#end();
  }

  next(): Promise<IteratorResult<T, undefined>> {
    const event = this.#queue.shift();
    if (event !== undefined) return Promise.resolve({ done: false, value: event });
    if (!this.#ended) return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
    if (this.#failure === undefined) return Promise.resolve({ done: true, value: undefined });
    const { error } = this.#failure;
    this.#failure = undefined;
    // The error is the source's own, or the reason of an AbortSignal, which may be any value.
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors
    return Promise.reject(error);
  }

  /** The loop was left: what is queued is thrown away. */
  return(): Promise<IteratorResult<T, undefined>> {
    this.#queue.length = 0;
    this.#failure = undefined;
    this.#end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    // Somebody waits only when nothing is queued, so the end is theirs now.
    for (const waiter of this.#waiting.splice(0)) void this.next().then(waiter.resolve, waiter.reject);
    this.#onEnd();
  }
}
