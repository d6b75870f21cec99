/** The store in Redis: several proxies, a host whose clock jumps, and a Redis that hangs, is killed, or is emptied. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { connectRedis, type RedisLink } from '../../../daemon/src/shared-store/redis-link.js';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';
import { openRedisStore } from '../../src/store/redis/redis-store.js';
import type { SharedKeyStore } from '../../src/store/store.js';
import { dayOf } from '../../src/store/usage.js';
import { waitFor } from '../harness/wait.js';
import { keyOf, put, readUsage, requestOf } from './samples.js';

let redis: PrivateRedis;
let stores: SharedKeyStore[];
let links: RedisLink[];
let logged: string[];
beforeEach(async () => {
  redis = await startRedis({ isPersistent: true });
  stores = [];
  links = [];
  logged = [];
});
afterEach(async () => {
  redis.resume();
  await Promise.all(stores.map((store) => store.close()));
  for (const link of links) link.close();
  await redis.stop();
});

const add = (text: string) => void logged.push(text);
const log = { info: add, warn: add, error: add };
async function open({ keepDays = null }: { readonly keepDays?: number | null } = {}): Promise<SharedKeyStore> {
  const store = await openRedisStore({ url: redis.url, keepDays, log });
  stores.push(store);
  return store;
}
/** Opens a connection for commands of the test. */
async function connect() {
  const link = await connectRedis(redis.url);
  links.push(link);
  return (...words: string[]) => link.command(words);
}
const until = (isReached: () => boolean | Promise<boolean>, what: string) =>
  waitFor(
    async () => ((await isReached()) ? true : undefined),
    () => `waited for ${what}`,
  );
const spend = (store: SharedKeyStore) => store.spendOf('k').spend;
const requestsOf = async (store: SharedKeyStore) => {
  const rows = await readUsage(store, dayOf(Date.now() - 86_400_000), dayOf(Date.now() + 86_400_000));
  return rows.reduce((sum, row) => sum + (row.subject === 'key' ? row.requests : 0), 0);
};

describe('a Redis that two proxies share', () => {
  it('gives each proxy the spend that the other proxy adds, sets and removes', async () => {
    const [one, two] = [await open(), await open()];
    await put(one, 'k', keyOf({ maxBudget: 10 }));
    await until(() => two.keys.has('k'), 'the key');
    for (const store of [one, two, one]) store.addUsage(requestOf({ cost: 2 }));
    await until(() => spend(one) === 6 && spend(two) === 6, 'the sum');
    await two.setSpend('k', 1);
    await until(() => spend(one) === 1, 'the spend that was set');
    await put(one, 'k', null);
    await until(() => !two.keys.has('k'), 'the deletion');
    two.addUsage(requestOf());
    await put(one, 'k', keyOf({ createdAt: 2 }));
    await until(() => two.keys.has('k'), 'the new key');
    await readUsage(two, '2026-01-01', '2026-01-01');
    expect([spend(one), spend(two)]).toEqual([0, 0]);
  });

  it('copies only the keys that have changed, and not all keys, to each proxy', async () => {
    const [one, two] = [await open(), await open()];
    await put(one, 'k', keyOf());
    await until(() => two.keys.has('k'), 'the key');
    let isListed = false;
    const list = (): never[] => {
      isListed = true;
      return [];
    };
    for (const { shared } of [one, two]) Object.assign(shared, { list });
    await put(one, 'k', keyOf({ rpmLimit: 5 }));
    await put(one, 'other', keyOf());
    await until(() => two.keys.get('k')?.rpmLimit === 5 && two.keys.has('other'), 'the changes');
    await put(one, 'k', null);
    await until(() => !two.keys.has('k'), 'the deletion');
    expect([[...one.keys.keys()], [...two.keys.keys()], isListed]).toEqual([['other'], ['other'], false]);
  });

  it('has one limit of tags for both proxies', async () => {
    const [one, two] = [await open(), await open()];
    for (let n = 0; n < 6000; n += 1) {
      one.addUsage(requestOf({ tags: [`one${n}`] }));
      two.addUsage(requestOf({ tags: [`two${n}`] }));
    }
    // On a busy host, Redis may answer too late, so the test asks again.
    await until(async () => (await requestsOf(one).catch(() => 0)) === 12_000, 'the requests of both');
    const rows = await readUsage(one, '2000-01-01', '2999-01-01');
    const tags = rows.filter(({ subject }) => subject === 'tag');
    const requests = tags.reduce((sum, row) => sum + row.requests, 0);
    // One row is for all tags after the first 10,000.
    expect([tags.length, requests]).toEqual([10_000 + 1, 12_000]);
  });
});

describe('a host whose clock jumps', () => {
  it.each([
    ['forward', 40 * 86_400_000],
    ['back', -40 * 86_400_000],
  ])('keeps the periods of budgets, because the clock of Redis decides: %s', async (_direction, ms) => {
    const store = await open();
    await put(store, 'k', keyOf({ maxBudget: 10, budgetDuration: '30d' }));
    store.addUsage(requestOf());
    const before = store.spendOf('k');
    expect(before.spend).toBe(0.5);
    const { now } = Date;
    const beforeJump = store.now();
    Date.now = () => now() + ms;
    try {
      expect(store.spendOf('k')).toEqual(before);
      expect(Math.abs(store.now() - beforeJump)).toBeLessThan(86_400_000);
      store.addUsage(requestOf());
      // The report sends both requests to Redis first.
      await readUsage(store, '2026-01-01', '2026-01-01');
    } finally {
      Date.now = now;
    }
    expect(store.spendOf('k')).toEqual({ ...before, spend: 1 });
    expect(await requestsOf(store)).toBe(2);
  });
});

describe('the content of Redis', () => {
  it('has an expiry for the usage of each day; a new keepDays applies also to the stored days', async () => {
    const command = await connect();
    const today = dayOf(Date.now());
    const name = (day: string) => `{model-proxy}:usage:${day}`;
    const lifeOf = async (day: string) => Number(await command('PEXPIRETIME', name(day))) - Date.parse(day);
    const day = 86_400_000;
    const store = await open({ keepDays: 30 });
    store.addUsage(requestOf());
    expect(await requestsOf(store)).toBe(1);
    expect(await lifeOf(today)).toBe(30 * day);
    const old = dayOf(Date.now() - 20 * day);
    await command('HSET', name(old), '1["key","k","m"]', '4');
    await open({ keepDays: 40 });
    expect([await lifeOf(today), await lifeOf(old)]).toEqual([40 * day, 40 * day]);
    await open({ keepDays: 10 });
    expect([await lifeOf(today), await command('EXISTS', name(old))]).toEqual([10 * day, 0]);
  });

  it('has one spend for a key, even after three periods, and none for a deleted key', async () => {
    const command = await connect();
    const store = await open();
    await put(store, 'k', keyOf({ budgetDuration: '1s' }));
    const periods = new Set<number | null>();
    await until(() => {
      store.addUsage(requestOf());
      periods.add(store.spendOf('k').resetAt);
      return periods.size === 3;
    }, 'three periods');
    await requestsOf(store);
    const names = ['spends', 'spend-ends'].map((name) => `{model-proxy}:${name}`);
    expect(await Promise.all(names.map((name) => command('HLEN', name)))).toEqual([1, 1]);
    await put(store, 'k', null);
    expect(await Promise.all(names.map((name) => command('EXISTS', name)))).toEqual([0, 0]);
    expect(await command('EXISTS', '{model-proxy}:spend-changes')).toBe(0);
  });
});

describe('a Redis that does not answer for a while', () => {
  it('counts each request once, although the proxy repeats its batch', async () => {
    const store = await open();
    await put(store, 'k', keyOf());
    store.addUsage(requestOf({ cost: 1 }));
    await until(async () => (await requestsOf(store)) === 1, 'the first request');
    redis.pause();
    // Redis gets these batches, and runs them only when it continues.
    store.addUsage(requestOf({ cost: 2 }));
    await expect(requestsOf(store)).rejects.toThrow(/reading the usage: the shared store does not answer/);
    store.addUsage(requestOf({ cost: 4 }));
    await expect(requestsOf(store)).rejects.toThrow(StoreUnavailable);
    expect(spend(store)).toBe(7);
    redis.resume();
    await until(() => logged.includes('the usage can be stored again'), 'the recovery');
    expect(await requestsOf(store)).toBe(3);
    expect([spend(store), spend(await open())]).toEqual([7, 7]);
  });

  it('makes the proxy reject a new spend, and does not apply it later', async () => {
    const store = await open();
    await put(store, 'k', keyOf());
    store.addUsage(requestOf({ cost: 4 }));
    await requestsOf(store);
    redis.pause();
    // After this failed call, the store knows that Redis does not answer.
    await expect(requestsOf(store)).rejects.toThrow(StoreUnavailable);
    await expect(store.setSpend('k', 0)).rejects.toThrow(/the spend cannot be stored: the shared store does not/);
    expect(spend(store)).toBe(4);
    redis.resume();
    await until(() => logged.includes('the usage can be stored again'), 'the recovery');
    expect([spend(store), spend(await open())]).toEqual([4, 4]);
  });

  it('counts all requests of this time, with at most 10,000 different tags', async () => {
    const store = await open();
    redis.pause();
    for (let n = 0; n < 10_100; n += 1) store.addUsage(requestOf({ tags: [`t${n}`] }));
    redis.resume();
    await until(async () => (await requestsOf(store).catch(() => 0)) === 10_100, 'the requests');
    const rows = await readUsage(store, '2000-01-01', '2999-01-01');
    expect(rows).toHaveLength(1 + 10_000 + 1);
    expect(rows.find(({ name }) => name === '(other tags)')?.requests).toBe(100);
  });
});

describe('a Redis that is killed and starts again', () => {
  it('has each request exactly once, although restarts interrupt flushes', async () => {
    const [one, two] = [await open(), await open()];
    await put(one, 'k', keyOf());
    await until(() => two.keys.has('k'), 'the key');
    let sent = 0;
    const timer = setInterval(() => {
      for (const store of [one, two]) store.addUsage(requestOf({ cost: 1 }));
      sent += 2;
    }, 1);
    // Reports keep flushes running, so that some are interrupted.
    const reports = { areWanted: true };
    const reporting = Promise.all(
      [one, two].map(async (store) => {
        while (reports.areWanted) await requestsOf(store).catch(() => new Promise((go) => setTimeout(go, 5)));
      }),
    );
    for (let round = 0; round < 4; round += 1) {
      const before = sent;
      await until(() => sent > before + 100, 'requests');
      await redis.restart();
    }
    reports.areWanted = false;
    clearInterval(timer);
    await reporting;
    await until(async () => (await requestsOf(one).catch(() => -1)) === sent, 'the requests of both');
    await until(() => spend(one) === sent && spend(two) === sent, 'the spend of both');
    expect(spend(await open())).toBe(sent);
  });

  it('makes the proxies read the keys and spends again if it returns empty', async () => {
    const [one, two] = [await open(), await open()];
    await put(one, 'k', keyOf());
    one.addUsage(requestOf({ cost: 1 }));
    await until(() => spend(two) === 1, 'the spend');
    await redis.flush();
    await redis.restart();
    await until(async () => {
      await put(one, 'k', keyOf()).catch(() => undefined);
      return two.keys.has('k') && spend(one) === 0 && spend(two) === 0;
    }, 'the empty Redis');
    two.addUsage(requestOf({ cost: 2 }));
    await until(() => spend(one) === 2, 'the new spend');
  });
});
