import { describe, expect, it } from '@jest/globals';
import { AttemptPace } from './attempt-pace.js';

const limits = { free: 2, firstGapMs: 100, maxGapMs: 400 };

/** Makes attempts, each as soon as the pace allows it. @returns the times of the attempts. */
function attemptTimes(pace: AttemptPace, number: number): readonly number[] {
  const times: number[] = [];
  for (let turn = 0; turn < number; turn += 1) {
    const at = Math.max(times.at(-1) ?? 0, pace.nextAt);
    times.push(at);
    pace.take(at);
  }
  return times;
}

describe('the pace of attempts', () => {
  it('allows a few attempts without a gap, and then doubles the gap up to the maximum', () => {
    expect(attemptTimes(new AttemptPace(limits), 8)).toEqual([0, 0, 0, 100, 300, 700, 1100, 1500]);
  });

  it('does not count attempts with the right password', () => {
    const pace = new AttemptPace(limits);
    for (let attempt = 0; attempt < 10; attempt += 1) pace.take(0)();
    expect([pace.isFree, attemptTimes(pace, 4)]).toEqual([true, [0, 0, 0, 100]]);
  });

  it('removes the gap that an attempt with the right password caused, and no other gap', () => {
    const pace = new AttemptPace(limits);
    attemptTimes(pace, 4);
    pace.take(300)();
    expect(pace.nextAt).toBe(300);
  });

  it('permits an attempt at once after clear()', () => {
    const pace = new AttemptPace(limits);
    attemptTimes(pace, 6);
    pace.clear();
    expect([pace.isFree, pace.nextAt]).toEqual([true, 0]);
  });
});
