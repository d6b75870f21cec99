import { describe, expect, it } from '@jest/globals';
import { JsonLimitError, parseWithinLimits, REQUEST_LIMITS, valueWithinLimits } from './parse-within-limits.js';

/** Returns a list with a number of empty objects. */
const list = (count: number): string => `[${Array.from({ length: count }, () => '{}').join()}]`;

describe('parseWithinLimits', () => {
  it.each([
    [
      'nested deeper than 512 levels',
      '['.repeat(5000) + ']'.repeat(5000),
      'more than 512 objects and arrays are nested',
    ],
    ['with too many values', list(500_000), 'it has more than 500000 objects and arrays'],
    ['that never ends', '['.repeat(5_000_000), 'more than 512 objects and arrays are nested'],
  ])('rejects a text %s', (_what, text, message) => {
    expect(() => parseWithinLimits(text)).toThrow(new JsonLimitError(message));
    expect(valueWithinLimits(text)).toBe(undefined);
  });

  it('allows fewer values in a request than in an answer', () => {
    expect(() => parseWithinLimits(list(100_000), REQUEST_LIMITS)).toThrow('more than 100000');
    expect(parseWithinLimits(list(99_999), REQUEST_LIMITS)).toHaveLength(99_999);
  });

  it('accepts a text at both limits, even if its strings contain brackets and quotes', () => {
    expect(parseWithinLimits(list(499_999))).toHaveLength(499_999);
    const deep = '['.repeat(511) + `{"${'['.repeat(9000)}\\"{\\\\":"\\\\\\"${'{'.repeat(9000)}"}` + ']'.repeat(511);
    expect(parseWithinLimits(deep)).toEqual(JSON.parse(deep));
  });

  it('throws a SyntaxError for a text that is not JSON', () => {
    for (const text of ['', '"', `["${'x'.repeat(5000)}`, `${list(3000)}]`])
      expect(() => parseWithinLimits(text)).toThrow(SyntaxError);
  });
});
