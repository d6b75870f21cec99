import { describe, expect, it } from '@jest/globals';
import { createPacing } from './attempt-pacing.js';

const limits = { free: 2, firstGapMs: 100, longestGapMs: 400, longestWaitMs: 1000, forgetAfterMs: 60_000, keys: 3 };

describe('pacing of attempts', () => {
  it('lets a few pass, then doubles the gap up to the longest, and refuses a turn too far away (B10)', () => {
    const pacing = createPacing(limits, () => 0);
    const waits = Array.from({ length: 8 }, () => pacing.take('a').waitMs);
    // Two are free; gaps of 100, 200, 400, 400, … follow; at 1100 the turn is too far and none is taken.
    expect(waits).toEqual([0, 0, 0, 100, 300, 700, 1100, 1100]);
    expect(pacing.take('b').waitMs).toBe(0);
  });

  it('waits only for what is left of the gap (B10)', () => {
    let time = 0;
    const pacing = createPacing(limits, () => time);
    for (let attempt = 0; attempt < 3; attempt += 1) pacing.take('a');
    time = 40;
    expect(pacing.take('a').waitMs).toBe(60);
    time = 5000;
    expect(pacing.take('a').waitMs).toBe(0);
  });

  it('forgets after a success, after a while, and the oldest key where there are too many (B10)', () => {
    let time = 0;
    const pacing = createPacing(limits, () => time);
    const spend = (key: string) => Array.from({ length: 4 }, () => pacing.take(key).waitMs).at(-1);
    expect(spend('a')).toBe(100);
    pacing.clear('a');
    expect(spend('a')).toBe(100);
    time = 61_000;
    expect(pacing.take('a').waitMs).toBe(0);
    expect(spend('b')).toBe(100);
    for (const key of ['c', 'd', 'e']) pacing.take(key);
    expect(spend('b')).toBe(100);
  });

  it('does not count what was right (B10)', () => {
    const pacing = createPacing(limits, () => 0);
    const waits = Array.from({ length: 10 }, () => {
      const { waitMs } = pacing.take('a');
      pacing.undo('a');
      return waitMs;
    });
    expect(waits).toEqual(Array<number>(10).fill(0));
    pacing.undo('unknown');
  });
});
