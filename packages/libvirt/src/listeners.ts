/**
 * Calls back into the user's code. What that throws becomes an uncaught exception: the fault is the callback's, so neither the
 * connection nor anybody else may suffer, and it must not vanish.
 */
export function callBack(callback: () => void): void {
  try {
    callback();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** Who wants to be told of something, in the order in which they came. */
export class Listeners<T> {
  readonly #entries = new Set<(value: T) => void>();

  get size(): number {
    return this.#entries.size;
  }

  /** Adds a listener; one that is added twice is called twice. @returns what removes it. */
  add(listener: (value: T) => void): () => void {
    const entry = (value: T): void => listener(value);
    this.#entries.add(entry);
    return () => void this.#entries.delete(entry);
  }

  /** Calls every listener, whatever the others throw. */
  emit(value: T): void {
    for (const listener of [...this.#entries]) callBack(() => listener(value));
  }
}
