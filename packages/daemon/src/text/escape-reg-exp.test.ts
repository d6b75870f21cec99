import { describe, expect, it } from '@jest/globals';
import { escapeRegExp } from './escape-reg-exp.js';

describe('escapeRegExp', () => {
  it('makes a pattern that matches only the text itself', () => {
    const text = String.raw`a.b*c+d?e^f$g{1}(h|i)[j]\k`;

    expect(new RegExp(`^${escapeRegExp(text)}$`).exec(text)?.[0]).toBe(text);
    expect(new RegExp(escapeRegExp('a.b')).test('axb')).toBe(false);
  });
});
