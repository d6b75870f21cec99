/** Limits of keys of several proxies that share a Redis. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { connectRedis } from '@rackless/daemon/shared-store/redis-link.js';
import { openSharedStore, type SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import type { KeyLimits } from '../../src/auth/key-limits.js';
import { createSharedLimits, redisAuthority } from '../../src/auth/shared-limits.js';
import { virtualKeyOf, type VirtualKey } from '../../src/auth/virtual-key.js';
import type { ProxyError } from '../../src/errors/proxy-error.js';
import type { StoredKey } from '../../src/store/keys.js';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';
import { waitFor } from '../harness/wait.js';
import { keyOf as sampleKey } from '../store/samples.js';

const keyOf = (limits: Partial<StoredKey>, digest = 'k'): VirtualKey => virtualKeyOf(digest, sampleKey(limits));

let redis: PrivateRedis;
let stores: SharedStore[];
let logged: string[];
/** Number of stores that `patientProxies` has opened. */
let opened: number;
beforeEach(async () => {
  redis = await startRedis();
  stores = [];
  opened = 0;
  logged = [];
});
afterEach(async () => {
  redis.resume();
  await Promise.all(stores.map((store) => store.close()));
  await redis.stop();
});

/** Longer than Redis takes on a busy host. There, a proxy with the usual time limits would apply limits by itself. */
const PATIENCE_MS = 60_000;

const add = (text: string) => void logged.push(text);
const log = { info: add, warn: add, error: add };
/** Makes the limits of proxies that wait for Redis for the usual time. */
const proxies = (count: number) => Promise.all(Array.from({ length: count }, impatientProxy));
async function impatientProxy(): Promise<KeyLimits> {
  const store = await openSharedStore(redis.url, 'model-proxy', log);
  stores.push(store);
  return createSharedLimits(redisAuthority(store), log);
}
/** Makes the limits of proxies that wait for Redis as long as necessary. */
const patientProxies = (count: number) => Promise.all(Array.from({ length: count }, patientProxy));
async function patientProxy(): Promise<KeyLimits> {
  const store = await openSharedStore(redis.url, 'model-proxy', log, { commandMs: PATIENCE_MS });
  stores.push(store);
  opened += 1;
  return createSharedLimits({ ...redisAuthority(store), timeoutMs: PATIENCE_MS }, log);
}
const ask = (limits: KeyLimits, key: VirtualKey) =>
  new Promise<ProxyError | undefined>((resolve) => limits.admit(key, resolve));
const isAdmitted = async (limits: KeyLimits, key: VirtualKey) => (await ask(limits, key)) === undefined;
const until = (isReached: () => boolean | Promise<boolean>, what: string) =>
  waitFor(
    async () => ((await isReached()) ? true : undefined),
    () => `waited for ${what}`,
  );
const isLimitedAlone = () => logged.some((line) => line.startsWith('limits of keys apply to each process alone'));
const isLimitedTogether = () => logged.includes('limits of keys apply to all processes together again');

/** Sends `count` requests to each proxy, all at the same time. @returns the errors of the rejected requests. */
async function askAll(all: readonly KeyLimits[], key: VirtualKey, count: number): Promise<readonly ProxyError[]> {
  const answers = await Promise.all(Array.from({ length: count }, () => all.map((limits) => ask(limits, key))).flat());
  return answers.filter((error) => error !== undefined);
}

describe('limits in Redis', () => {
  afterEach(() => {
    // A proxy that applies limits by itself logs a warning, and may admit too many requests. A closed store also
    // causes a warning, so tests that closed a store are not checked.
    if (stores.length === opened) expect(logged).toEqual([]);
  });

  it('hold exactly for requests that arrive at two proxies at the same time', async () => {
    const key = keyOf({ rpmLimit: 1000 });
    const refused = await askAll(await patientProxies(2), key, 2500);
    expect(refused).toHaveLength(4000);
    expect(refused[0]?.message).toContain('Limit type: requests. Current limit: 1000');
    expect(Number(refused[0]?.headers['retry-after'])).toBeGreaterThan(50);
  });

  it.each([1, 2, 3, 4, 5])(
    'hold exactly at three proxies for a limit of %s and requests one after the other',
    async (limit) => {
      const all = await patientProxies(3);
      for (const key of [keyOf({ rpmLimit: limit }, 'a'), keyOf({ maxParallelRequests: limit }, 'b')]) {
        const admitted: boolean[] = [];
        for (let n = 0; n < 12; n += 1) for (const limits of all) admitted.push(await isAdmitted(limits, key));
        expect(admitted.filter(Boolean)).toHaveLength(limit);
      }
      const tokens = keyOf({ tpmLimit: limit });
      let count = 0;
      for (let n = 0; n < 12; n += 1)
        for (const limits of all) {
          if (!(await isAdmitted(limits, tokens))) continue;
          limits.release(tokens, 1);
          count += 1;
        }
      expect(count).toBe(limit);
    },
  );

  it('hold for tokens and parallel requests of all proxies, and free the slots of a proxy that ends', async () => {
    const [first, second] = await patientProxies(2);
    if (first === undefined || second === undefined) throw new Error('a proxy is missing');
    const key = keyOf({ tpmLimit: 100, maxParallelRequests: 2 });
    expect([await ask(first, key), await ask(second, key)]).toEqual([undefined, undefined]);
    expect((await ask(first, key))?.message).toContain('Limit type: max_parallel_requests');
    first.release(key, 40);
    expect(await ask(first, key)).toBeUndefined();
    expect(logged).toEqual([]);
    await stores.pop()?.close();
    expect(await ask(first, key)).toBeUndefined();
    first.release(key, 60);
    expect((await ask(first, key))?.message).toContain('Limit type: tokens. Current limit: 100');
    expect(first.remaining(key)).toEqual({ requests: null, tokens: 0 });
  });

  it('need fewer than 2,000 calls of Redis for 20,000 requests of a key', async () => {
    const [limits] = await patientProxies(1);
    if (limits === undefined) throw new Error('the proxy is missing');
    const key = keyOf({ rpmLimit: 1_000_000, tpmLimit: 100_000_000, maxParallelRequests: 1000 });
    for (let n = 0; n < 20_000; n += 1) {
      expect(await ask(limits, key)).toBeUndefined();
      limits.release(key, 100);
    }
    const link = await connectRedis(redis.url);
    const [, calls] = /cmdstat_eval:calls=(\d+)/.exec(String(await link.command(['INFO', 'commandstats']))) ?? [];
    link.close();
    expect(Number(calls)).toBeLessThan(2000);
  });

  it('can be used up by one proxy after the other proxies have become idle', async () => {
    const all = await patientProxies(3);
    const key = keyOf({ rpmLimit: 1000 });
    const [idle, busy] = [all.slice(0, 2), all[2]];
    if (busy === undefined) throw new Error('the proxy is missing');
    for (let n = 0; n < 100; n += 1) expect(await askAll(idle, key, 1)).toEqual([]);
    let admitted = 200;
    await until(async () => {
      while (await isAdmitted(busy, key)) admitted += 1;
      return admitted >= 1000;
    }, 'the whole limit');
    expect(admitted).toBe(1000);
  });

  it('change at once when the limit of a key becomes lower or higher', async () => {
    const [limits] = await patientProxies(1);
    if (limits === undefined) throw new Error('the proxy is missing');
    for (let n = 0; n < 100; n += 1) expect(await ask(limits, keyOf({ rpmLimit: 1000 }))).toBeUndefined();
    expect((await ask(limits, keyOf({ rpmLimit: 100 })))?.status).toBe(429);
    expect(await ask(limits, keyOf({ rpmLimit: 101 }))).toBeUndefined();
  });
});

describe('limits while Redis does not answer', () => {
  it('apply to each process alone, with a warning, and together again later', async () => {
    const [limits, other] = await proxies(2);
    if (limits === undefined || other === undefined) throw new Error('a proxy is missing');
    const key = keyOf({ rpmLimit: 3 });
    expect(await ask(limits, key)).toBeUndefined();
    redis.pause();
    expect((await askAll([limits], key, 3)).map(({ status }) => status)).toEqual([429]);
    expect(logged.filter((line) => line.startsWith('limits of keys apply to each process alone'))).toHaveLength(1);
    redis.resume();
    await until(isLimitedTogether, 'the recovery');
    expect((await ask(other, key))?.status).toBe(429);
  });

  it('free slots whose requests were admitted during this time', async () => {
    const [limits, other] = await proxies(2);
    if (limits === undefined || other === undefined) throw new Error('a proxy is missing');
    const key = keyOf({ maxParallelRequests: 2 });
    redis.pause();
    // Redis gets these calls, and runs them when it continues.
    expect(await askAll([limits], key, 2)).toEqual([]);
    expect(isLimitedAlone()).toBe(true);
    redis.resume();
    await until(isLimitedTogether, 'the recovery');
    expect((await ask(other, key))?.status).toBe(429);
    limits.release(key, 0);
    limits.release(key, 0);
    await until(() => isAdmitted(other, key), 'the first slot');
    expect(await isAdmitted(other, key)).toBe(true);
  });

  it('free slots whose requests ended during this time', async () => {
    const [limits, other] = await proxies(2);
    if (limits === undefined || other === undefined) throw new Error('a proxy is missing');
    const key = keyOf({ maxParallelRequests: 2 });
    expect(await askAll([limits], key, 2)).toEqual([]);
    redis.pause();
    // Each store has its own heartbeat. Redis stays paused until both have failed. After that, the stores reject
    // commands at once.
    const failures = () => logged.filter((line) => line.startsWith('the shared store does not answer')).length;
    await until(() => failures() === 2, 'the failure of both');
    limits.release(key, 0);
    limits.release(key, 0);
    redis.resume();
    const again = () => logged.filter((line) => line === 'the shared store answers again').length;
    await until(() => again() >= 2, 'the recovery of both');
    await until(async () => {
      const answers = await askAll([other], key, 2);
      for (let n = answers.length; n < 2; n += 1) other.release(key, 0);
      return answers.length === 0;
    }, 'both slots');
  });
});
