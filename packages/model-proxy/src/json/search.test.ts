import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { containsText, partsWithout } from './search.js';

function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((place, index) => bytes.subarray(sorted[index], place));
}

describe('searching chunks', () => {
  it('finds the same matches as in the joined chunks', () => {
    const property = fc.property(
      fc.string({ unit: fc.constantFrom('a', 'b', '_'), maxLength: 60 }),
      fc.array(fc.nat(1000), { maxLength: 20 }),
      fc.string({ unit: fc.constantFrom('a', 'b', '_'), minLength: 1, maxLength: 6 }),
      fc.nat(60),
      (text, places, needle, start) => {
        const bytes = Buffer.from(text);
        const chunks = cut(bytes, places);
        const part = { start: Math.min(start, bytes.length), end: bytes.length };
        const rest = text.slice(part.start);
        expect(containsText(chunks, part, [Buffer.from(needle)])).toBe(rest.includes(needle));
        const all: string[] = [];
        for (let at = rest.indexOf(needle); at !== -1; at = rest.indexOf(needle, at + 1))
          all.push(rest.slice(at, at + 32));
        const seen: string[] = [];
        containsText(chunks, part, [Buffer.from(needle)], (following) => {
          seen.push(following);
          return false;
        });
        expect(seen).toEqual(all);
      },
    );
    fc.assert(property, { numRuns: 500 });
  });

  it('excludes long texts, except their first 32 bytes, in which a match may end', () => {
    const long = [
      { start: 100, end: 9_000 },
      { start: 9_100, end: 20_000 },
    ];
    expect(partsWithout(long, { start: 0, end: 30_000 })).toEqual([
      { start: 0, end: 132 },
      { start: 9_000, end: 9_132 },
      { start: 20_000, end: 30_000 },
    ]);
    expect(partsWithout(long, { start: 9_000, end: 9_100 })).toEqual([{ start: 9_000, end: 9_100 }]);
    expect(partsWithout(long, { start: 200, end: 8_000 })).toEqual([]);
    expect(partsWithout([], { start: 3, end: 4 })).toEqual([{ start: 3, end: 4 }]);
  });
});
