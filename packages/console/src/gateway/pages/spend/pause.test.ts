import { describe, expect, it } from '@jest/globals';
import { pauseAfter } from './pause.js';

describe('the pause between two reads of the usage', () => {
  it.each([
    ['five seconds after a quick answer', 10, true, 5000],
    ['20 times the duration of a slow answer', 2000, true, 40_000],
    ['five minutes after a very slow answer', 120_000, true, 300_000],
    ['five seconds after a read that failed slowly', 120_000, false, 5000],
  ])('is %s', (_what, durationMs, hasSucceeded, pauseMs) => {
    expect(pauseAfter(durationMs, hasSucceeded)).toBe(pauseMs);
  });
});
