/** Async iterator with a queue: `push` adds events and a `for await` loop reads them. */
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
   * Creates an iterator.
   * @param maxQueued maximum length of the queue. A further event is lost and ends the iteration with
   *   an error, after the queued events.
   * @param onEnd called once when the iteration ends for any reason, perhaps before the consumer has
   *   read the queued events. Stop the source of the events here.
   */
  constructor(maxQueued: number, onEnd: () => void) {
    this.#maxQueued = maxQueued;
    this.#onEnd = onEnd;
  }

  /** Adds an event. Does nothing after the end. */
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

  /** Ends the iteration: after the queued events, `next` rejects once with the error. Does nothing after the end. */
  fail(error: unknown): void {
    if (this.#ended) return;
    this.#failure = { error };
    this.#end();
  }

  /** Ends the iteration after the queued events. */
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
    // The reason of an AbortSignal may be any value.
    // oxlint-disable-next-line typescript/prefer-promise-reject-errors
    return Promise.reject(error);
  }

  /**
   * Ends the iteration and drops the queued events. JavaScript calls this when the loop exits
   * early.
   */
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
    // If a consumer waits, the queue is empty, so the consumer gets the error or the end immediately.
    for (const waiter of this.#waiting.splice(0)) void this.next().then(waiter.resolve, waiter.reject);
    this.#onEnd();
  }
}
