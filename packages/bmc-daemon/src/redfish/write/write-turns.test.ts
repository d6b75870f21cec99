import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { WriteTurns } from './write-turns.js';

const neverGone = (): boolean => false;

/** Returns a write that runs until the test calls `end`. */
function openWrite() {
  let end = (): void => undefined;
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { run: () => ended, end };
}

/** Waits for several turns of the event loop. */
async function passTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

describe('the queue of writes', () => {
  it('starts a single write at once', async () => {
    const hasWaited = new WriteTurns().run('a', neverGone, (waited) => Promise.resolve(waited));
    await expect(hasWaited).resolves.toBe(false);
  });

  it('starts at most four of twenty writes before a read that arrives after them', async () => {
    const writes = new WriteTurns({ running: 100, shortTurnMs: Infinity });
    const order: string[] = [];
    const all = Array.from({ length: 20 }, () =>
      writes.run('a', neverGone, () => {
        order.push('write');
        return Promise.resolve();
      }),
    );
    const read = nextTurn().then(() => order.push('read'));
    await Promise.all([...all, read]);
    expect(order.indexOf('read')).toBeLessThan(5);
    expect(order).toHaveLength(21);
  });

  it('starts no second write after long turns of the event loop until the maximum pause has passed', async () => {
    let now = 0;
    const writes = new WriteTurns({ shortTurnMs: 8, maxPauseMs: 40 }, { now: () => (now += 9) });
    let started = 0;
    const count = (): Promise<number> => Promise.resolve((started += 1));
    const all = Promise.all([writes.run('a', neverGone, count), writes.run('a', neverGone, count)]);
    await passTurns(2);
    expect(started).toBe(1);
    await all;
    expect(now).toBeGreaterThan(40);
  });

  it('starts no second write while others arrive until the maximum pause has passed, and then only one', async () => {
    let now = 0;
    const writes = new WriteTurns({ running: 100, maxPauseMs: 40 }, { now: () => now });
    let started = 0;
    const all: Promise<unknown>[] = [];
    const arrive = (): void => void all.push(writes.run('a', neverGone, () => Promise.resolve((started += 1))));
    const arriveInTurns = async (count: number): Promise<void> => {
      for (let turn = 0; turn < count; turn += 1) {
        arrive();
        await nextTurn();
      }
    };
    // The first write starts at once. The second write is the first in the queue.
    arrive();
    await arriveInTurns(20);
    expect(started).toBe(1);
    now = 41;
    await arriveInTurns(20);
    expect(started).toBe(2);
    await passTurns(50);
    expect(started).toBe(41);
    await Promise.all(all);
  });

  it('limits the running writes on a busy event loop, and starts the next write when one ends', async () => {
    const writes = new WriteTurns({ running: 2, slowMs: 1_000_000, shortTurnMs: Infinity }, { load: () => 1 });
    const open = Array.from({ length: 5 }, openWrite);
    let running = 0;
    const all = open.map(({ run }) =>
      writes.run('a', neverGone, async () => {
        running += 1;
        await run();
        running -= 1;
      }),
    );
    await passTurns(10);
    expect(running).toBe(2);
    open[0]?.end();
    await passTurns(10);
    expect(running).toBe(2);
    for (const { end } of open) end();
    await Promise.all(all);
    expect(running).toBe(0);
  });

  it('starts a write beside a slow write, even above the limit', async () => {
    const writes = new WriteTurns({ running: 1, slowMs: 1 });
    const slow = openWrite();
    const first = writes.run('a', neverGone, slow.run);
    await expect(writes.run('a', neverGone, () => Promise.resolve('done'))).resolves.toBe('done');
    slow.end();
    await first;
  });

  it('starts more writes while the running ones leave the event loop idle', async () => {
    const writes = new WriteTurns({ running: 8, slowMs: 1_000_000, loadIntervalMs: 1 }, { load: () => 0.1 });
    const open = Array.from({ length: 100 }, openWrite);
    const started = open.map(
      ({ run }) =>
        new Promise<void>((resolve) => {
          void writes.run('a', neverGone, () => {
            resolve();
            return run();
          });
        }),
    );
    await Promise.all(started);
    for (const { end } of open) end();
  });

  it('starts no more writes while the event loop is busy', async () => {
    let measured = 0;
    let wake = (): void => undefined;
    const measuredOften = new Promise<void>((resolve) => (wake = resolve));
    const load = (): number => {
      if ((measured += 1) > 20) wake();
      return 0.9;
    };
    const writes = new WriteTurns({ running: 2, slowMs: 1_000_000, loadIntervalMs: 1 }, { load });
    const open = Array.from({ length: 5 }, openWrite);
    let running = 0;
    const all = open.map(({ run }) =>
      writes.run('a', neverGone, () => {
        running += 1;
        return run();
      }),
    );
    await measuredOften;
    expect(running).toBe(2);
    for (const { end } of open) end();
    await Promise.all(all);
    expect(running).toBe(5);
  });

  it('alternates between clients', async () => {
    const writes = new WriteTurns({ running: 1, slowMs: 1_000_000, shortTurnMs: Infinity });
    const order: string[] = [];
    const write = (client: string): Promise<unknown> =>
      writes.run(client, neverGone, () => {
        order.push(client);
        return nextTurn();
      });
    await Promise.all([...Array.from({ length: 6 }, () => write('storm')), write('other'), write('other')]);
    expect(order.slice(0, 5)).toEqual(['storm', 'storm', 'other', 'storm', 'other']);
  });

  it('starts the next write after a write that fails', async () => {
    const writes = new WriteTurns({ running: 1 });
    const failing = writes.run('a', neverGone, () => Promise.reject(new Error('no')));
    const next = writes.run('a', neverGone, () => Promise.resolve('done'));
    await expect(failing).rejects.toThrow('no');
    await expect(next).resolves.toBe('done');
  });

  it('does not start the write of a client that disconnected while it waited', async () => {
    const writes = new WriteTurns({ running: 1 });
    const first = openWrite();
    const running = writes.run('a', neverGone, first.run);
    let isGone = false;
    let ran = false;
    const waiting = writes.run(
      'b',
      () => isGone,
      () => Promise.resolve((ran = true)),
    );
    isGone = true;
    first.end();
    await running;
    await expect(waiting).resolves.toBeUndefined();
    expect(ran).toBe(false);
  });
});
