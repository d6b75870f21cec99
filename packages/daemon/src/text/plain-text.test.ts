import { describe, expect, it } from '@jest/globals';
import { cutLine, plainJson, plainText } from './plain-text.js';

describe('plain text', () => {
  it('keeps line feeds, letters outside of ASCII, and symbols', () => {
    expect(plainText('a\nü 节点 🖥')).toBe('a\nü 节点 🖥');
  });

  it('escapes unsafe characters in JSON, also those that JSON.stringify does not escape', () => {
    const value = { a: '\u009b\u202e\u007f\u001b\n' };
    expect(plainJson(value)).toBe('{\n  "a": "\\u009b\\u202e\\u007f\\u001b\\n"\n}');
    expect(JSON.parse(plainJson(value))).toEqual(value);
  });

  it('is cut at whole characters, and takes no more columns than allowed', () => {
    expect(cutLine('节点节点', 5)).toBe('节点…');
    expect(cutLine('abc', 3)).toBe('abc');
  });
});
