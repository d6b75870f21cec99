/** Proxies that share a Redis: keys and usage. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openRedisStore } from '../../src/store/redis/redis-store.js';
import type { SharedKeyStore } from '../../src/store/store.js';
import { dayOf } from '../../src/store/usage.js';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';
import { waitFor } from '../harness/wait.js';
import { keyOf, put, readUsage, requestOf } from '../store/samples.js';

const request = requestOf({ tags: ['t'] });

let redis: PrivateRedis;
let stores: SharedKeyStore[];
let logged: string[];
beforeEach(async () => {
  redis = await startRedis();
  stores = [];
  logged = [];
});
afterEach(async () => {
  redis.resume();
  await Promise.all(stores.map((store) => store.close()));
  await redis.stop();
});

const add = (text: string) => void logged.push(text);
const log = { info: add, warn: add, error: add };
async function open(): Promise<SharedKeyStore> {
  const store = await openRedisStore({ url: redis.url, keepDays: null, log });
  stores.push(store);
  return store;
}
const until = (isReached: () => boolean | Promise<boolean>, what: string) =>
  waitFor(
    async () => ((await isReached()) ? true : undefined),
    () => `waited for ${what}`,
  );

describe('keys in Redis', () => {
  it('reach the other proxies, and so do changes and deletions', async () => {
    const [one, two] = [await open(), await open()];
    await put(one, 'k', keyOf({ alias: 'a' }));
    await until(() => two.keys.get('k')?.alias === 'a', 'the key');
    await put(two, 'k', keyOf({ alias: 'b', rpmLimit: 3 }));
    await until(() => one.keys.get('k')?.rpmLimit === 3, 'the change');
    expect(
      await one.changeKeys((keys) => ({ changes: new Map(), result: [keys.withAlias('a'), keys.withAlias('b')] })),
    ).toEqual([undefined, 'k']);
    await put(one, 'k', null);
    await until(() => two.keys.size === 0, 'the deletion');
    await put(two, 'other', keyOf({ alias: 'b' }));
    expect((await open()).keys.size).toBe(1);
  });

  it('keep concurrent changes at two proxies, and only one of two concurrent keys gets an alias', async () => {
    const [one, two] = [await open(), await open()];
    await put(one, 'k', keyOf());
    const count = (store: SharedKeyStore, n: number) =>
      store.changeKeys((keys) => {
        const metadata = { ...keys.get('k')?.metadata, [`n${n}`]: n };
        return { changes: new Map([['k', keyOf({ metadata })]]), result: undefined };
      });
    for (let n = 0; n < 10; n += 2) await Promise.all([count(one, n), count(two, n + 1)]);
    await until(() => Object.keys(one.keys.get('k')?.metadata ?? {}).length === 10, 'ten changes');
    const create = (store: SharedKeyStore, digest: string) =>
      store.changeKeys((keys) => {
        if (keys.withAlias('team') !== undefined) throw new Error('the alias is in use');
        return { changes: new Map([[digest, keyOf({ alias: 'team' })]]), result: digest };
      });
    const results = await Promise.allSettled([create(one, '1'), create(two, '2')]);
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  });

  it('stay valid while Redis does not answer; changes fail, and usage is stored later', async () => {
    const store = await open();
    await put(store, 'k', keyOf());
    redis.pause();
    await expect(put(store, 'x', keyOf())).rejects.toThrow(/the shared store does not answer/);
    expect(store.keys.has('k')).toBe(true);
    store.addUsage(request);
    await until(() => logged.some((line) => line.startsWith('the usage cannot be stored')), 'the warning');
    expect(store.isAvailable).toBe(false);
    redis.resume();
    await until(() => logged.includes('the usage can be stored again'), 'the recovery');
    await until(() => store.isAvailable, 'the store');
    await until(
      async () =>
        await put(store, 'y', keyOf()).then(
          () => true,
          () => false,
        ),
      'a change',
    );
    const today = dayOf(Date.now());
    expect((await readUsage(store, today, today)).map(({ requests }) => requests)).toEqual([1, 1]);
  });
});

describe('usage in Redis', () => {
  it('is the sum of all proxies, and each proxy gets the total spend of a key', async () => {
    const [one, two] = [await open(), await open()];
    await put(one, 'k', keyOf({ budgetDuration: '30d' }));
    await until(() => two.keys.has('k'), 'the key');
    expect(two.spendOf('k').spend).toBe(0);
    for (let n = 0; n < 100; n += 1) one.addUsage(request);
    two.addUsage({ ...request, failed: true, cost: 0.25 });
    await until(() => one.spendOf('k').spend === 50.25 && two.spendOf('k').spend === 50.25, 'the sum at both');
    const today = dayOf(Date.now());
    expect(await readUsage(two, today, today)).toEqual(
      expect.arrayContaining([
        {
          day: today,
          subject: 'key',
          name: 'k',
          model: 'm',
          requests: 101,
          failed: 1,
          inputTokens: 1010,
          outputTokens: 202,
          totalTokens: 1212,
          cost: 50.25,
        },
        expect.objectContaining({ subject: 'tag', name: 't', requests: 101 }),
      ]),
    );
    await two.setSpend('k', 1);
    expect(two.spendOf('k').spend).toBe(1);
    await until(() => one.spendOf('k').spend === 1, 'the new spend');
  });
});

it('the store does not open if Redis does not accept connections', async () => {
  await expect(openRedisStore({ url: 'redis://127.0.0.1:1', keepDays: null, log })).rejects.toThrow(
    /connecting to redis:\/\/127\.0\.0\.1:1: /,
  );
});
