/** Chance that repeats itself: a failure names its seed. */

export interface Random {
  /** An integer of 0 up to but without `below`. */
  integer(below: number): number;
  /** One of them. @throws {Error} where there is none. */
  pick<T>(choices: readonly T[]): T;
}

/** Mulberry32: 32 bits of state, good enough to be everywhere. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const integer = (below: number): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
  return {
    integer,
    pick: (choices) => {
      const choice = choices[integer(choices.length)];
      if (choice === undefined) throw new Error('picking one of none');
      return choice;
    },
  };
}
