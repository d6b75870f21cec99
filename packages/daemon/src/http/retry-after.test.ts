import { describe, expect, it } from '@jest/globals';
import { retryAfterMs } from './retry-after.js';

const NOW = Date.parse('Mon, 23 Nov 2026 12:00:00 GMT');
const read = (value: string) => retryAfterMs({ 'retry-after': value }, NOW);

describe('Retry-After', () => {
  it('is a number of seconds or a date', () => {
    expect([read('0'), read('7'), read('1.5'), read('1000000000')]).toEqual([0, 7000, 1500, 1e12]);
    expect(read('Mon, 23 Nov 2026 12:00:09 GMT')).toBe(9000);
    expect(read('Mon, 23 Nov 2026 11:00:00 GMT')).toBe(0);
  });

  it('is ignored if it is missing, negative, or neither a number of seconds nor a date', () => {
    expect(['', '-5', 'soon', '5 s', '1e3', '2026-11-23'].map(read)).toEqual(Array(6).fill(undefined));
    expect(retryAfterMs({}, NOW)).toBeUndefined();
  });
});
