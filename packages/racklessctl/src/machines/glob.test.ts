import { expect, it } from '@jest/globals';
import { globExpression } from './glob.js';

it.each([
  ['web-*', 'web-1', true],
  ['web-*', 'a-web-1', false],
  ['web-?', 'WEB-1', true],
  ['web-?', 'web-12', false],
  ['web-[1-3]', 'web-2', true],
  ['web-[!1-3]', 'web-2', false],
  ['a.b*', 'axb', false],
  ['(a+)+*', '(a+)+b', true],
  ['[', '[', true],
  ['[]', '[]', true],
])('the pattern %s matches the name %s: %s', (glob, name, matches) => {
  expect(globExpression(glob).test(name)).toBe(matches);
});

it('a pattern with an invalid range is rejected', () => {
  expect(() => globExpression('[z-a]')).toThrow("'[z-a]' is not a valid pattern");
});
