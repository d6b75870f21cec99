/** Tests the promises of both stores: files in a folder, and Redis. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.js';
import type { StoredKey } from '../../src/store/keys.js';
import { openRedisStore } from '../../src/store/redis/redis-store.js';
import type { Store } from '../../src/store/store.js';
import { dayOf } from '../../src/store/usage.js';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';
import { waitFor } from '../harness/wait.js';
import { keyOf, put, readUsage, requestOf } from './samples.js';

const DAY_MS = 86_400_000;
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

interface OpenOptions {
  readonly keepDays: number | null;
  readonly now: () => number;
}

/** The place of a store: a folder, or the database of Redis. */
interface Place {
  open(options: OpenOptions): Promise<Store>;
  remove(): Promise<void>;
}

function newFolder(): Place {
  const folder = mkdtempSync(path.join(tmpdir(), 'rackless-store-'));
  return {
    open: (options) => openEmbeddedStore({ folder, log, ...options }),
    remove: () => {
      rmSync(folder, { recursive: true });
      return Promise.resolve();
    },
  };
}

let redis: PrivateRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

function newDatabase(): Place {
  return {
    open: (options) => openRedisStore({ url: redis.url, log, ...options }),
    remove: () => redis.flush(),
  };
}

describe.each([
  ['embedded', newFolder],
  ['redis', newDatabase],
])('the store %s', (_name, newPlace) => {
  let place: Place;
  let store: Store | undefined;
  /**
   * Two hours before midnight on the second day of the next month. It is in the future, because Redis removes days that
   * are old by its own clock.
   */
  let now: number;
  beforeEach(() => {
    place = newPlace();
    const today = new Date();
    now = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 2, 22);
  });
  afterEach(async () => {
    await store?.close();
    store = undefined;
    await place.remove();
  });

  /**
   * Waits until everything is stored: a read of usage first stores the pending usage. On a busy host, Redis may answer
   * too late. This function then reads again.
   */
  const flush = (open: Store) =>
    waitFor(
      () => readUsage(open, '2000-01-01', '2000-01-01').catch(() => undefined),
      () => 'the store does not answer',
    );
  /** Opens the store. Closes it first if it is open, as a restart does. */
  const open = async (keepDays: number | null = null): Promise<Store> => {
    if (store !== undefined) await flush(store);
    await store?.close();
    store = undefined;
    store = await place.open({ keepDays, now: () => now });
    return store;
  };
  const spend = (from: Store) => from.spendOf('k').spend;
  const today = () => dayOf(now);

  describe('keys', () => {
    it('survive a restart, with their last change', async () => {
      const first = await open();
      const key = keyOf({ alias: 'a"\n\0\u2028', metadata: { team: 'x' } });
      await put(first, 'k', keyOf({ alias: 'other' }));
      await put(first, 'k', key);
      expect(first.keys.get('k')).toEqual(key);
      expect((await open()).keys.get('k')).toEqual(key);
    });

    it('are found by their alias, until they are deleted', async () => {
      const first = await open();
      const find = (alias: string) =>
        first.changeKeys((keys) => ({ changes: new Map(), result: keys.withAlias(alias) }));
      await put(first, 'k', keyOf({ alias: 'a' }));
      expect(await find('a')).toBe('k');
      await put(first, 'k', keyOf({ alias: 'b' }));
      expect([await find('a'), await find('b')]).toEqual([undefined, 'k']);
      await put(first, 'k', null);
      expect([await find('b'), first.keys.size]).toEqual([undefined, 0]);
    });
  });

  describe('the spend of a key', () => {
    it('is known at once after a restart, and after a minute without requests', async () => {
      const first = await open();
      await put(first, 'k', keyOf({ maxBudget: 1 }));
      first.addUsage(requestOf({ cost: 0.5 }));
      first.addUsage(requestOf({ cost: 0.25 }));
      expect(spend(first)).toBe(0.75);
      const again = await open();
      expect(spend(again)).toBe(0.75);
      now += 61_000;
      expect(spend(again)).toBe(0.75);
    });

    it('starts at 0 after the end of its period, also after a restart', async () => {
      const first = await open();
      await put(first, 'k', keyOf({ budgetDuration: '1d' }));
      first.addUsage(requestOf({ cost: 0.5 }));
      const midnight = Date.parse(`${today()}T24:00:00Z`);
      expect(first.spendOf('k')).toEqual({ spend: 0.5, resetAt: midnight });
      now = midnight;
      expect(first.spendOf('k')).toEqual({ spend: 0, resetAt: midnight + DAY_MS });
      const again = await open();
      expect(again.spendOf('k')).toEqual({ spend: 0, resetAt: midnight + DAY_MS });
      again.addUsage(requestOf({ cost: 0.125 }));
      expect(spend(await open())).toBe(0.125);
    });

    it('does not contain the costs of an ended period, even if these are stored only later', async () => {
      const first = await open();
      await put(first, 'k', keyOf({ budgetDuration: '1d' }));
      first.addUsage(requestOf({ cost: 0.5 }));
      now += 3 * 3_600_000;
      first.addUsage(requestOf({ cost: 0.25 }));
      expect(spend(first)).toBe(0.25);
      expect(spend(await open())).toBe(0.25);
    });

    it.each([
      ['shorter', '30d', '1d'],
      ['longer', '1d', '30d'],
    ])('stays if the periods become %s', async (_change, before, after) => {
      const first = await open();
      await put(first, 'k', keyOf({ budgetDuration: before }));
      first.addUsage(requestOf({ cost: 5 }));
      await put(first, 'k', keyOf({ budgetDuration: after }));
      // In both cases, the period ends when the shorter period ends.
      const period = { spend: 5, resetAt: Date.parse(`${today()}T24:00:00Z`) };
      expect(first.spendOf('k')).toEqual(period);
      const again = await open();
      expect(again.spendOf('k')).toEqual(period);
      again.addUsage(requestOf({ cost: 1 }));
      expect(spend(again)).toBe(6);
      expect(spend(await open())).toBe(6);
    });

    it('starts at 0 after the first period if the key gets periods later, also without a request', async () => {
      const first = await open();
      await put(first, 'k', keyOf());
      first.addUsage(requestOf({ cost: 5 }));
      await put(first, 'k', keyOf({ budgetDuration: '1d' }));
      expect(spend(first)).toBe(5);
      const again = await open();
      expect(spend(again)).toBe(5);
      now += 3 * 3_600_000;
      expect(spend(again)).toBe(0);
      expect(spend(await open())).toBe(0);
    });

    it('stays if the key has no periods any more', async () => {
      const first = await open();
      await put(first, 'k', keyOf({ budgetDuration: '1d' }));
      first.addUsage(requestOf({ cost: 5 }));
      await put(first, 'k', keyOf());
      now += 3 * DAY_MS;
      expect(first.spendOf('k')).toEqual({ spend: 5, resetAt: null });
      first.addUsage(requestOf({ cost: 1 }));
      expect((await open()).spendOf('k')).toEqual({ spend: 6, resetAt: null });
    });

    it('is removed with the key, so that a new key with the same digest starts at 0', async () => {
      const first = await open();
      await put(first, 'k', keyOf());
      first.addUsage(requestOf());
      const deleted = put(first, 'k', null);
      first.addUsage(requestOf());
      await deleted;
      first.addUsage(requestOf());
      await put(first, 'k', keyOf({ createdAt: 2 }));
      expect(spend(first)).toBe(0);
      first.addUsage(requestOf({ cost: 0.125 }));
      expect(spend(first)).toBe(0.125);
      expect(spend(await open())).toBe(0.125);
    });

    it('is not stored again by a flush during the deletion of the key', async () => {
      const first = await open();
      for (let round = 1; round <= 30; round += 1) {
        await put(first, 'k', keyOf({ createdAt: round }));
        first.addUsage(requestOf());
        // The deletion and the spend are pending at the same time. The store must write the spend after the deletion.
        const deleted = put(first, 'k', null);
        first.addUsage(requestOf());
        await Promise.all([deleted, first.setSpend('k', 7)]);
      }
      const again = await open();
      await put(again, 'k', keyOf({ createdAt: 99 }));
      expect(spend(again)).toBe(0);
      expect(spend(await open())).toBe(0);
    });

    it('is stored if an administrator sets it, and replaces the costs before, but not those after it', async () => {
      const first = await open();
      await put(first, 'k', keyOf());
      first.addUsage(requestOf({ cost: 5 }));
      const flushing = readUsage(first, today(), today());
      const done = first.setSpend('k', 1);
      await Promise.all([flushing, done]);
      expect(spend(first)).toBe(1);
      first.addUsage(requestOf({ cost: 0.5 }));
      expect(spend(first)).toBe(1.5);
      await first.setSpend('k', 0);
      expect(spend(first)).toBe(0);
      expect(spend(await open())).toBe(0);
    });
  });

  describe('usage', () => {
    it('is counted by day, key, model and tag, and survives a restart', async () => {
      const first = await open();
      first.addUsage(requestOf({ tags: ['x', 'y'] }));
      first.addUsage(requestOf({ key: null, failed: true, cost: 0 }));
      const again = await open();
      again.addUsage(requestOf({ tags: ['x'] }));
      const day = today();
      now += 3 * 3_600_000;
      const next = await open();
      next.addUsage(requestOf({ model: 'n' }));
      const numbers = { requests: 1, failed: 0, inputTokens: 10, outputTokens: 2, totalTokens: 12, cost: 0.5 };
      const twice = { requests: 2, failed: 0, inputTokens: 20, outputTokens: 4, totalTokens: 24, cost: 1 };
      const rows = await readUsage(next, day, today());
      const expected = [
        { day, model: 'm', subject: 'key', name: 'k', ...twice },
        { day, model: 'm', subject: 'tag', name: 'x', ...twice },
        { day, model: 'm', subject: 'tag', name: 'y', ...numbers },
        { day, model: 'm', subject: 'key', name: '', ...numbers, failed: 1, cost: 0 },
        { day: today(), model: 'n', subject: 'key', name: 'k', ...numbers },
      ];
      expect(rows).toHaveLength(expected.length);
      expect(rows).toEqual(expect.arrayContaining(expected));
      expect(await readUsage(next, today(), '2999-01-01')).toHaveLength(1);
      expect(await readUsage(next, today(), day)).toEqual([]);
    });

    it('is counted once, although several reports read it at the same time', async () => {
      const first = await open();
      await put(first, 'k', keyOf());
      for (let round = 1; round <= 20; round += 1) {
        first.addUsage(requestOf({ cost: 1 }));
        const reports = await Promise.all([1, 2, 3].map(() => readUsage(first, today(), today())));
        expect(reports.map(([row]) => row?.requests)).toEqual([round, round, round]);
        expect(spend(first)).toBe(round);
      }
      expect(spend(await open())).toBe(20);
    });

    it('is stored for keepDays, including the present day, and a lower keepDays removes more days', async () => {
      const begin = today();
      for (let day = 0; day < 4; day += 1) {
        (await open(3)).addUsage(requestOf());
        now += DAY_MS;
      }
      now -= DAY_MS;
      const days = async (from: Store) => (await readUsage(from, '2000-01-01', '2999-01-01')).map(({ day }) => day);
      const at = (day: number) => dayOf(Date.parse(begin) + day * DAY_MS);
      expect(await days(await open(3))).toEqual([at(1), at(2), at(3)]);
      expect(await days(await open(2))).toEqual([at(2), at(3)]);
    });

    it('has at most 10,000 tags in a day, and counts the other tags together', async () => {
      const first = await open();
      for (let n = 0; n < 10_100; n += 1) first.addUsage(requestOf({ tags: [`t${n}`] }));
      const again = await open();
      again.addUsage(requestOf({ tags: ['new'] }));
      again.addUsage(requestOf({ tags: ['t1'] }));
      const rows = await readUsage(again, today(), today());
      expect(rows).toHaveLength(1 + 10_000 + 1);
      const requestsOf = (name: string) => rows.find((row) => row.name === name)?.requests;
      expect([requestsOf('(other tags)'), requestsOf('t1'), requestsOf('new')]).toEqual([101, 2, undefined]);
    });

    it('is complete for other models, although an upstream reports more tokens than an integer can have', async () => {
      const absurd = { inputTokens: 5e18, outputTokens: 5e18, totalTokens: 1e22 };
      let opened = await open();
      for (const cost of [1, 2]) {
        opened.addUsage(requestOf({ model: 'broken', cost, ...absurd }));
        for (const model of ['m', 'n']) opened.addUsage(requestOf({ model, cost }));
        opened = await open();
      }
      const rows = await readUsage(opened, today(), today());
      expect(rows.map(({ model, requests, cost }) => [model, requests, cost]).sort()).toEqual([
        ['broken', 2, 3],
        ['m', 2, 3],
        ['n', 2, 3],
      ]);
      expect(rows.find(({ model }) => model === 'broken')).toMatchObject({ inputTokens: 1e19, totalTokens: 2e22 });
    });

    it('is complete after a flush of 1,200 keys', async () => {
      const first = await open();
      const digests = Array.from({ length: 1200 }, (_, n) => `k${n}`);
      await first.changeKeys(() => ({
        changes: new Map(digests.map((digest): [string, StoredKey] => [digest, keyOf()])),
        result: undefined,
      }));
      for (const key of digests) first.addUsage(requestOf({ key }));
      const again = await open();
      expect(digests.filter((digest) => again.spendOf(digest).spend !== 0.5)).toEqual([]);
      expect(await readUsage(again, today(), today())).toHaveLength(1200);
    });
  });
});
