/**
 * A random number generator with a seed. A failed test prints the seed, so that the test can be
 * repeated.
 */
export interface Random {
  /** Returns an integer from 0 to `limit` - 1. */
  integer(limit: number): number;
  /** Returns one of the items. @throws {Error} for an empty list. */
  pick<Item>(items: readonly Item[]): Item;
  /** Returns true with probability 1/`cases`. */
  oneIn(cases: number): boolean;
}

/** Creates a generator (mulberry32). The same seed gives the same numbers. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const integer = (limit: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
  return {
    integer,
    pick: (items) => {
      const item = items[integer(items.length)];
      if (item === undefined) throw new Error('picking an item of an empty list');
      return item;
    },
    oneIn: (cases) => integer(cases) === 0,
  };
}
