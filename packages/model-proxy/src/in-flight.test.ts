import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { InFlight } from './in-flight.js';

describe('the set of objects in flight', () => {
  it('contains what was added and not deleted, after random operations', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9), { maxLength: 100 }), (moves) => {
        const things = Array.from({ length: 10 }, (_, name) => ({ name, inFlightIndex: -1 }));
        const inFlight = new InFlight<{ readonly name: number; inFlightIndex: number }>();
        const expected = new Set<number>();
        for (const move of moves) {
          const thing = things[move];
          if (thing === undefined) throw new Error(`looking for object ${move}: there are only ten`);
          if (expected.delete(move)) inFlight.delete(thing);
          else {
            // Deleting an object that is in no set does nothing.
            inFlight.delete(thing);
            inFlight.add(thing);
            expected.add(move);
          }
        }
        expect(
          inFlight
            .list()
            .map(({ name }) => name)
            .sort(),
        ).toEqual([...expected].sort());
        expect(inFlight.size).toBe(expected.size);
      }),
    );
  });
});
