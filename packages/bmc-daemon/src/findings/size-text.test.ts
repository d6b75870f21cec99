import { describe, expect, it } from '@jest/globals';
import { sizeText } from './size-text.js';

describe('a size', () => {
  it.each([
    [0, '0 bytes'],
    [1023, '1023 bytes'],
    [1536, '1.5 KiB'],
    [2 ** 30, '1 GiB'],
    [123.4 * 2 ** 30, '123 GiB'],
    [2 ** 42, '4 TiB'],
  ])('is shown for %d bytes as %s', (bytes, text) => {
    expect(sizeText(bytes)).toBe(text);
  });
});
