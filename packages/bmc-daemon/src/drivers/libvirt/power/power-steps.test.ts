import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Machine } from '../machine/inventory.js';
import { destroyBeforeStart } from './power-steps.js';

afterEach(() => {
  jest.restoreAllMocks();
});

/** Switches a machine off whose QEMU needs this time to end. @returns whether the next start must wait. */
async function mustWait(endMs: number, hangs: boolean): Promise<boolean> {
  const now = jest.spyOn(performance, 'now').mockReturnValue(0);
  const destroy = (): Promise<void> => {
    now.mockReturnValue(endMs);
    return Promise.resolve();
  };
  const machine = { name: 'web-1', domain: { destroy } } as unknown as Machine; // all that is used
  let isOver = false;
  const over = destroyBeforeStart(machine, 1_000, { hangs }).then(() => (isOver = true));
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  const waits = !isOver;
  await over;
  return waits;
}

describe('a power-off before a start', () => {
  it('waits after the end of a QEMU that is known to hang, or that needed 10 s to end', async () => {
    expect(await mustWait(10, true)).toBe(true);
    expect(await mustWait(10_000, false)).toBe(true);
  });

  it('does not wait after the end of a QEMU that obeyed', async () => {
    expect(await mustWait(10, false)).toBe(false);
  });
});
