import { describe, expect, it } from '@jest/globals';
import { escapeRegExp } from './escape-reg-exp.js';

describe('escapeRegExp', () => {
  it('returns a pattern that matches the text itself, and gives its special characters no meaning', () => {
    const text = String.raw`a.b*c+d?e^f$g{1}(h|i)[j]\k`;

    expect(new RegExp(`^${escapeRegExp(text)}$`).exec(text)?.[0]).toBe(text);
    expect(new RegExp(escapeRegExp('a.b')).test('axb')).toBe(false);
  });
});
