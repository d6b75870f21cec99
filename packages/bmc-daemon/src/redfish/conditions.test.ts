import { describe, expect, it } from '@jest/globals';
import { entityTag, ifMatchHolds, ifNoneMatchMatches } from './conditions.js';

describe('entityTag', () => {
  it('returns a strong and quoted tag that depends only on the text', () => {
    expect(entityTag('a')).toMatch(/^"[\w-]{22}"$/);
    expect(entityTag('a')).toBe(entityTag('a'));
    expect(entityTag('a')).not.toBe(entityTag('b'));
  });
});

describe('If-Match and If-None-Match', () => {
  it.each([
    ['"x"', true, true],
    ['*', true, true],
    [' "y" ,"x"', true, true],
    ['W/"x"', false, true],
    ['"y", W/"x"', false, true],
    [' ,"y",, "x", ,', true, true],
    ['"y"', false, false],
    ['x', false, false],
    ['"x"foobar', false, false],
    ['"x" "y"', false, false],
    ['', false, false],
  ])(
    'compare %j with the tag "x": If-Match allows the request: %j, If-None-Match matches: %j',
    (header, match, noneMatch) => {
      expect([ifMatchHolds(header, '"x"'), ifNoneMatchMatches(header, '"x"')]).toEqual([match, noneMatch]);
    },
  );

  it('take less than a minute for a long header that does not match', () => {
    // With a pattern that tries each division of the spaces, this takes many minutes.
    const header = `"y",${' '.repeat(500_000)}x`;
    expect([ifMatchHolds(header, '"x"'), ifNoneMatchMatches(header, '"x"')]).toEqual([false, false]);
  }, 60_000);
});
