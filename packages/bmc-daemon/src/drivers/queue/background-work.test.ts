import { describe, expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { waitFor } from '../../../test/daemon/process.js';
import { BackgroundReads } from './background-reads.js';

/** Submits reads that end only when the test ends them. */
function submitReads(count: number) {
  const reads = new BackgroundReads();
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const all = Promise.all(
    Array.from({ length: count }, (_, number) =>
      reads.run(
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

describe('background reads', () => {
  it('run four at once, and begin in the order of the calls', async () => {
    const { begun, ends, all } = submitReads(6);
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
    const reads = new BackgroundReads();
    const failing = Array.from({ length: 4 }, () => reads.run(() => Promise.reject(new Error('no such host'))));
    const results = await Promise.allSettled([...failing, reads.run(() => Promise.resolve())]);
    expect(results.map(({ status }) => status)).toEqual([...failing.map(() => 'rejected'), 'fulfilled']);
  });

  it('begin although four earlier ones hang', async () => {
    const { begun, ends, all } = submitReads(8);
    // No read of this test ends before the loop below.
    await waitFor(
      () => (begun.length === 8 ? true : undefined),
      () => `only ${begun.length} reads begin`,
    );
    for (const end of ends) end();
    await all;
  });
});
