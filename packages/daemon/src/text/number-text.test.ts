import { describe, expect, it } from '@jest/globals';
import { numberText } from './number-text.js';

describe('numberText', () => {
  it('writes numbers as String does', () => {
    const special = [0, -0, -1.5, NaN, Infinity, -Infinity, 1e21, 1e-7, 0.0005, 0.1 + 0.2, Number.MAX_VALUE];
    const limits = [2_147_483.647, 2_147_483.648, 2 ** 31 - 1, 2 ** 31];
    const decimals = Array.from({ length: 3000 }, (_, index) => index / 1000);
    for (const value of [...special, ...limits, ...decimals]) expect(numberText(value)).toBe(String(value));
  });
});
