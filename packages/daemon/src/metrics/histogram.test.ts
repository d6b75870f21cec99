import { describe, expect, it } from '@jest/globals';
import { quantile } from './histogram.js';

describe('quantile', () => {
  const bounds = [1, 2, 4];

  it('assumes that the values of a bucket are spread evenly', () => {
    expect(quantile(bounds, [0, 10, 0, 0], 0.5)).toBe(1.5);
    expect(quantile(bounds, [10, 0, 10, 0], 0.95)).toBe(3.8);
  });

  it('is the highest bound for values above all bounds', () => {
    expect(quantile(bounds, [0, 0, 0, 1], 0.5)).toBe(4);
  });
});
