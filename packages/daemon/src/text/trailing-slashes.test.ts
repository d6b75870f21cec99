import { expect, it } from '@jest/globals';
import { withoutTrailingSlashes } from './trailing-slashes.js';

it.each([
  ['http://host/', 'http://host'],
  ['/a//b///', '/a//b'],
  ['/a', '/a'],
  ['///', ''],
  ['', ''],
])('withoutTrailingSlashes returns %j as %j', (text, expected) => {
  expect(withoutTrailingSlashes(text)).toBe(expected);
});

it('withoutTrailingSlashes reads a long run of slashes quickly', () => {
  // A pattern that looks for the end at each slash takes many minutes.
  const text = `${'/'.repeat(500_000)}x`;
  expect(withoutTrailingSlashes(text)).toBe(text);
}, 60_000);
