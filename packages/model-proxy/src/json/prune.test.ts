import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { prune } from './prune.js';

const names = ['gone', 'deep', 'kept', 'a"b', 'é'];
const tree = fc.letrec<{ node: unknown }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.oneof(fc.integer(), fc.string(), fc.constant(null)),
    fc.array(tie('node'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...names), tie('node'), { maxKeys: 5 }),
  ),
})).node;

/**
 * Removes members named "gone" and every second element; does not look into members named "kept".
 */
function choose(_context: null, key: string | number): 'remove' | 'keep' | { readonly within: null } {
  if (key === 'gone' || (typeof key === 'number' && key % 2 === 1)) return 'remove';
  return key === 'kept' ? 'keep' : { within: null };
}

function expected(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((_, index) => index % 2 === 0).map(expected);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).filter(([key]) => key !== 'gone');
  return Object.fromEntries(
    members.map(([key, member]) => [key, key === 'kept' ? (member as unknown) : expected(member)]),
  );
}

describe('pruning JSON', () => {
  it('gives the same value as removal after JSON.parse', () => {
    fc.assert(
      fc.property(tree, fc.nat(3), (value, indent) => {
        const text = Buffer.from(JSON.stringify(value, undefined, indent));
        expect(JSON.parse(prune(text, null, choose).toString())).toEqual(expected(JSON.parse(text.toString())));
      }),
      { numRuns: 1000 },
    );
  });

  it('changes no other byte, and returns the same buffer if nothing is removed', () => {
    const text = Buffer.from('{ "\\u0067one":1, "deep" : [ 1.0 ,2 , {"gone":[], "x":1e1 } ] }');
    expect(prune(text, null, choose).toString()).toBe('{ "deep" : [ 1.0 , {"x":1e1 } ] }');
    expect(prune(text, null, () => 'keep')).toBe(text);
  });

  it('visits each value once, even in 500 nested objects and arrays', () => {
    const text = Buffer.from(`${'{"deep":['.repeat(250)}1,2${',3]}'.repeat(250)}`);
    let asked = 0;
    prune(text, null, (context, key) => {
      asked++;
      return choose(context, key);
    });
    // One visit for each member, plus the elements: three in the innermost array, two in each
    // of the other arrays.
    expect(asked).toBe(250 + 3 + 249 * 2);
  });
});
