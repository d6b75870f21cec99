import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { verifiedMembers } from './verified-members.js';

/** The seed. With the seed of a failed run in RACKLESS_SEED, the test repeats that run. */
const SEED = Number(process.env['RACKLESS_SEED'] ?? 20_261_129);

/** Returns the texts of the members, or null if the text was not verified. */
function found(text: string, ...paths: readonly (readonly string[])[]) {
  const bytes = Buffer.from(text);
  const members = verifiedMembers(bytes, paths);
  return members?.map((span) => span && bytes.toString('utf8', span.start, span.end)) ?? null;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

describe('the verification of a small object', () => {
  it('finds members of the outermost object, the last one of equal names', () => {
    const text = ' {"choices": [{"model": 1}], "model": "a", "id" : null, "model" :{"b":[ ]} } \n';
    expect(found(text, ['model'], ['id', 'more'], ['usage'])).toEqual(['{"b":[ ]}', 'null', undefined]);
  });

  it('does not find a name that is spelled with escapes', () => {
    expect(found('{"mod\\u0065l":1}', ['model'])).toEqual([undefined]);
  });

  it.each(['', '[]', '"a"', '{', '{}{}', '{"a":NaN}', '{"a":1,}', '{,}', '{"a"}', '\ufeff{}', '{"a":"b\n"}'])(
    'rejects %j',
    (text) => expect(found(text)).toBeNull(),
  );

  it('verifies 64 levels, and leaves deeper objects to JSON.parse', () => {
    const nested = (levels: number) => `{"a":${'['.repeat(levels - 1)}${']'.repeat(levels - 1)}}`;
    expect([found(nested(64), ['b']), found(nested(65))]).toEqual([[undefined], null]);
  });

  it('accepts exactly the objects of JSON.parse, also in text that is almost JSON', () => {
    const spelled = fc.json({ maxDepth: 4, stringUnit: 'binary' });
    const mutated = fc
      .tuple(
        fc.dictionary(fc.string(), spelled),
        fc.nat(),
        fc.constantFrom(...' \t\n"\\{}[],:-+.eE019aftnu\u0001é'.split('')),
      )
      .map(([members, at, character]) => {
        const pairs = Object.entries(members).map(([key, value]) => `${JSON.stringify(key)}:${value}`);
        const text = `{${pairs.join(',')}}`;
        const place = at % (text.length + 1);
        // The original, and texts with a character inserted, replaced or deleted.
        return [
          text,
          text.slice(0, place) + character + text.slice(place),
          text.slice(0, place) + character + text.slice(place + 1),
          text.slice(0, place) + text.slice(place + 1),
        ];
      });
    fc.assert(
      fc.property(mutated, (texts) => {
        for (const text of texts) expect([text, found(text) !== null]).toEqual([text, isObject(parse(text))]);
      }),
      { seed: SEED, numRuns: 1000 },
    );
  });

  it('accepts exactly the numbers that JSON.parse accepts', () => {
    const part = fc.constantFrom('-', '0', '1', '12', '.', '.5', 'e', 'E', '+', 'e-3', ' ');
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 5 }), (parts) => {
        const text = `{"a":${parts.join('')}}`;
        expect([text, found(text) !== null]).toEqual([text, parse(text) !== undefined]);
      }),
      { seed: SEED, numRuns: 2000 },
    );
  });
});
