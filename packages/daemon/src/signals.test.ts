import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { joined } from './signals.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe('what is asked for again and again', () => {
  it('is done at once, and once more after a rest for all that came meanwhile (C3)', async () => {
    let begun = 0;
    const ends: (() => void)[] = [];
    const ask = joined(() => {
      begun += 1;
      return new Promise((resolve) => ends.push(resolve));
    }, 500);
    for (let count = 0; count < 100; count += 1) ask();
    expect(begun).toBe(1);
    ends.shift()?.();
    await jest.advanceTimersByTimeAsync(499);
    ask();
    expect(begun).toBe(1);
    await jest.advanceTimersByTimeAsync(1);
    expect(begun).toBe(2);
    ends.shift()?.();
    await jest.advanceTimersByTimeAsync(5000);
    expect(begun).toBe(2);
    ask();
    expect(begun).toBe(3);
  });
});
