import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { RestartPause } from './restart-pause.js';

afterEach(() => {
  jest.restoreAllMocks();
});

describe('the pause before the next worker', () => {
  it('doubles up to 30 s while the workers end early, and begins again after a stable worker', () => {
    let now = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const pause = new RestartPause();
    /** Runs a worker for a time. @returns the pause after its end. */
    const after = (milliseconds: number): number => {
      pause.begin();
      now += milliseconds;
      return pause.next();
    };
    expect([1, 1, 1].map(after)).toEqual([100, 200, 400]);
    expect([60_001, 1, 1].map(after)).toEqual([100, 200, 400]);
    expect(Array.from({ length: 10 }, () => after(1)).at(-1)).toBe(30_000);
    expect([60_001, 60_001, 1].map(after)).toEqual([100, 100, 200]);
  });
});
