import { expect, it } from '@jest/globals';
import { forEachInParallel } from './parallel.js';

it('forEachInParallel calls the work for all items in order, at most as many at once as the limit', async () => {
  const begun: number[] = [];
  let running = 0;
  let most = 0;
  await forEachInParallel([1, 2, 3, 4, 5], 2, async (item) => {
    begun.push(item);
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
  });
  expect([begun, most, running]).toEqual([[1, 2, 3, 4, 5], 2, 0]);
});

it('forEachInParallel rejects with the failure of an item, and still calls the work for the remaining items', async () => {
  const done: number[] = [];
  const all = forEachInParallel([1, 2, 3, 4], 2, async (item) => {
    if (item === 1) throw new Error('broken');
    await new Promise((resolve) => setImmediate(resolve));
    done.push(item);
  });
  await expect(all).rejects.toThrow('broken');
  while (done.length < 3) await new Promise((resolve) => setImmediate(resolve));
  expect(done).toEqual([2, 3, 4]);
});
