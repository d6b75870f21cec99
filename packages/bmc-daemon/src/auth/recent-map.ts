/** A map of bounded size: above the limit, a new entry replaces the least recently used one. */
export class RecentMap<Key, Value> {
  // `get` and `set` insert an entry again, at the end of the Map. So its first entry is the least recently used.
  readonly #entries = new Map<Key, Value>();
  readonly #limit: number;

  /** @param limit maximum number of entries, at least 1. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the value and marks it as used now; undefined if there is none. */
  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  /** Sets a value and marks it as used now. Above the limit, removes the least recently used entry. */
  set(key: Key, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#limit) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }
}
