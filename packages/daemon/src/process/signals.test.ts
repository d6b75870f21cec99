import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { coalesce } from './signals.js';

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

describe('coalesced calls', () => {
  it('cause one run at once, and one more after the pause for all calls during that run and pause', async () => {
    let begun = 0;
    const ends: (() => void)[] = [];
    const ask = coalesce(() => {
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
