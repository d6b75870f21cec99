import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Bag } from './bag.js';

describe('a bag', () => {
  it('holds what was put in and not taken out, in whatever order that happened (C7)', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 100 }), (moves) => {
        const things = Array.from({ length: 10 }, (_, name) => ({ name, bagPlace: -1 }));
        const bag = new Bag<{ readonly name: number; bagPlace: number }>();
        const expected = new Set<number>();
        for (const move of moves) {
          const thing = things[move];
          if (thing === undefined) throw new Error('there are ten');
          if (expected.delete(move)) bag.delete(thing);
          else {
            // What is in none stays in none.
            bag.delete(thing);
            bag.add(thing);
            expected.add(move);
          }
        }
        expect(bag.list().map(({ name }) => name).sort()).toEqual([...expected].sort());
        expect(bag.size).toBe(expected.size);
      }),
    );
  });
});
