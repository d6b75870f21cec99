import { describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { waitFor } from '../../../test/daemon/process.js';
import { BackgroundWork } from './background-work.js';

/** Submits steps that end only when the test ends them. */
function submitSteps(count: number) {
  const work = new BackgroundWork();
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const all = Promise.all(
    Array.from({ length: count }, (_, number) =>
      work.run(
        () =>
          new Promise<void>((resolve) => {
            begun.push(number);
            ends.push(resolve);
          }),
      ),
    ),
  );
  return { begun, ends, all };
}

describe('background steps', () => {
  it('run four at once, and begin in the order of the calls', async () => {
    const { begun, ends, all } = submitSteps(6);
    await nextTurn();
    expect(begun).toEqual([0, 1, 2, 3]);
    ends[2]?.();
    await nextTurn();
    expect(begun).toEqual([0, 1, 2, 3, 4]);
    for (let number = 0; number < 6; number += 1) {
      ends[number]?.();
      await nextTurn();
    }
    await all;
    expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('begin after earlier ones have failed', async () => {
    const work = new BackgroundWork();
    const failing = Array.from({ length: 4 }, () => work.run(() => Promise.reject(new Error('no such host'))));
    const results = await Promise.allSettled([...failing, work.run(() => Promise.resolve())]);
    expect(results.map(({ status }) => status)).toEqual([...failing.map(() => 'rejected'), 'fulfilled']);
  });

  it('begin although four earlier ones hang', async () => {
    const { begun, ends, all } = submitSteps(8);
    // No step of this test ends before the loop below.
    await waitFor(
      () => (begun.length === 8 ? true : undefined),
      () => `only ${begun.length} steps begin`,
    );
    for (const end of ends) end();
    await all;
  });
});
