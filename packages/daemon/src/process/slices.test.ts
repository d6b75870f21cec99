import { describe, expect, it } from '@jest/globals';
import { runAtOnce, runInSlices, type Steps } from './slices.js';

/** Calls `step` as many times as `count`, and can pause after each call. Returns `done`. */
function* steps(count: number, step: () => void): Steps<string> {
  for (let n = 0; n < count; n += 1) {
    step();
    yield;
  }
  return 'done';
}

describe('steps', () => {
  it('let other work run as soon as a slice of 5 ms has passed, if they run in slices', async () => {
    const clock = { ms: 0 };
    const order: string[] = [];
    setImmediate(() => order.push('other work'));
    const step = () => {
      clock.ms += 3;
      order.push('step');
    };
    expect(await runInSlices(steps(4, step), () => clock.ms)).toBe('done');
    expect(order).toEqual(['step', 'step', 'other work', 'step', 'step']);
  });

  it('fail with the error of a step, in slices or at once', async () => {
    const fail = () => {
      throw new Error('no');
    };
    await expect(runInSlices(steps(1, fail))).rejects.toThrow('no');
    expect(() => runAtOnce(steps(1, fail))).toThrow('no');
    expect(runAtOnce(steps(1, () => undefined))).toBe('done');
  });
});
