/**
 * Runs a callback of the user. An error that it throws becomes an uncaught exception. It does not
 * affect the connection or other callbacks.
 */
export function runCallback(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** Ordered list of listeners. */
export class Listeners<T> {
  readonly #entries = new Set<(value: T) => void>();

  /** Number of listeners. */
  get size(): number {
    return this.#entries.size;
  }

  /**
   * Adds a listener. A listener that is added twice is called twice.
   * @returns a function that removes it.
   */
  add(listener: (value: T) => void): () => void {
    const entry = (value: T): void => listener(value);
    this.#entries.add(entry);
    return () => void this.#entries.delete(entry);
  }

  /** Calls every listener, even if another listener throws. */
  emit(value: T): void {
    for (const listener of [...this.#entries]) runCallback(() => listener(value));
  }
}
