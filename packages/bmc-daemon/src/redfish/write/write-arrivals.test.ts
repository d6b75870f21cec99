import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { WriteArrivals } from './write-arrivals.js';

/** Reports the arrival of a write. @returns `isReleased`, which returns whether the write may continue. */
function arrive(arrivals: WriteArrivals): { readonly isReleased: () => boolean } {
  let isReleased = false;
  const held = arrivals.hold();
  if (held === undefined) isReleased = true;
  else void held.then(() => (isReleased = true));
  return { isReleased: () => isReleased };
}

describe('arriving writes', () => {
  it('continue at once if they arrive alone', async () => {
    const arrivals = new WriteArrivals();
    expect(arrivals.hold()).toBeUndefined();
    for (let turn = 0; turn < 3; turn += 1) await nextTurn();
    expect(arrivals.hold()).toBeUndefined();
  });

  it('are held while more writes arrive, and then continue in order, a few in each turn', async () => {
    const arrivals = new WriteArrivals(() => 0);
    const writes: ReturnType<typeof arrive>[] = [];
    for (let turn = 0; turn < 40; turn += 1) {
      writes.push(arrive(arrivals));
      await nextTurn();
    }
    const releasedCount = (): number => writes.filter(({ isReleased }) => isReleased()).length;
    expect(releasedCount()).toBe(1);
    const counts: number[] = [];
    while (releasedCount() < writes.length) {
      await nextTurn();
      counts.push(releasedCount());
      expect(writes.slice(0, releasedCount()).every(({ isReleased }) => isReleased())).toBe(true);
    }
    expect(counts.length).toBeGreaterThanOrEqual(5);
  });

  it('continue after a pause, even if more writes still arrive in each turn', async () => {
    let now = 0;
    const arrivals = new WriteArrivals(() => now);
    const writes = [arrive(arrivals)];
    for (let turn = 0; turn < 5; turn += 1) {
      await nextTurn();
      now += 50;
      writes.push(arrive(arrivals));
    }
    expect(writes[1]?.isReleased()).toBe(true);
  });
});
