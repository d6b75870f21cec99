/** An object that can be in at most one {@link InFlight} at a time. */
export interface Tracked {
  /** Index that {@link InFlight} manages; -1 while the object is in none. */
  inFlightIndex: number;
}

/**
 * An unordered set of short-lived objects, for example the requests in flight: thousands are added
 * and deleted per second.
 *
 * With a `Set`, short-lived memory moves to V8's old space. When the hash table of a `Set` grows,
 * the replaced table keeps a pointer to the new one (for iterators). Once a replaced table is in the
 * old space, collections of the young generation cannot free the contents of the new table. With a
 * `Set`, 6.7 KB of each request moved to the old space; with this class, 0.7 KB.
 */
export class InFlight<T extends Tracked> {
  readonly #things: T[] = [];

  get size(): number {
    return this.#things.length;
  }

  /** Adds an object that is in no set. */
  add(thing: T): void {
    thing.inFlightIndex = this.#things.push(thing) - 1;
  }

  /** Deletes an object of this set; does nothing if the object is in no set. */
  delete(thing: T): void {
    const index = thing.inFlightIndex;
    if (index === -1) return;
    thing.inFlightIndex = -1;
    const last = this.#things.pop();
    if (last === undefined || last === thing) return;
    this.#things[index] = last;
    last.inFlightIndex = index;
  }

  /** Returns a copy of the current content. The set may change while the caller iterates. */
  list(): readonly T[] {
    return [...this.#things];
  }
}
