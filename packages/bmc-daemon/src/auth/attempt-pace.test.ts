import { describe, expect, it } from '@jest/globals';
import { Pace } from './attempt-pace.js';

const limits = { free: 2, firstGapMs: 100, maxGapMs: 400 };

/** Makes each attempt as soon as it is allowed. @returns the times at which they began. */
function turns(pace: Pace, number: number): readonly number[] {
  const times: number[] = [];
  for (let turn = 0; turn < number; turn += 1) {
    const at = Math.max(times.at(-1) ?? 0, pace.nextAt);
    times.push(at);
    pace.take(at);
  }
  return times;
}

describe('the pace of attempts', () => {
  it('lets a few attempts pass, then doubles the gap up to the longest', () => {
    expect(turns(new Pace(limits), 8)).toEqual([0, 0, 0, 100, 300, 700, 1100, 1500]);
  });

  it('does not count attempts that were right', () => {
    const pace = new Pace(limits);
    for (let attempt = 0; attempt < 10; attempt += 1) pace.take(0)();
    expect([pace.isFree, turns(pace, 4)]).toEqual([true, [0, 0, 0, 100]]);
  });

  it('removes the gap of a right attempt, and no other gap', () => {
    const pace = new Pace(limits);
    turns(pace, 4);
    pace.take(300)();
    expect(pace.nextAt).toBe(300);
  });

  it('starts again when it is cleared', () => {
    const pace = new Pace(limits);
    turns(pace, 6);
    pace.clear();
    expect([pace.isFree, pace.nextAt]).toEqual([true, 0]);
  });
});
