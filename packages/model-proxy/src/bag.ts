/** A thing that is in at most one bag at a time. */
export interface Bagged {
  /** Owned by the bag; -1 while it is in none. */
  bagPlace: number;
}

/**
 * What is under way, in no order, while each thing stays for a moment and thousands come in a second. A `Set` holds the same, but the
 * table that it outgrows points to the next one (for its iterators), and once the first of them is in V8's old space each keeps
 * all that was in the next from being collected young: 6.7 KB of each request were moved to the old space by that, with this 0.7 KB.
 */
export class Bag<T extends Bagged> {
  readonly #things: T[] = [];

  get size(): number {
    return this.#things.length;
  }

  /** It must not be in a bag already. */
  add(thing: T): void {
    thing.bagPlace = this.#things.push(thing) - 1;
  }

  /** Does nothing to what is not in it. */
  delete(thing: T): void {
    const place = thing.bagPlace;
    if (place === -1) return;
    thing.bagPlace = -1;
    const last = this.#things.pop();
    if (last === undefined || last === thing) return;
    this.#things[place] = last;
    last.bagPlace = place;
  }

  /** All that is in it now; it may change meanwhile. */
  list(): readonly T[] {
    return [...this.#things];
  }
}
