import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { digestOf, type StoredKey } from '../keys.js';
import { StoreError, type KeyChanges, type Store } from '../store.js';
import type { RequestUsage } from '../usage.js';
import { openEmbeddedStore } from './embedded-store.js';

let folder: string;
let logged: string[];
let now: number;
let stores: Store[];

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'store-'));
  logged = [];
  stores = [];
  now = Date.parse('2026-11-23T23:59:00Z');
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  rmSync(folder, { recursive: true });
});

async function open({ keepDays = null }: { readonly keepDays?: number | null } = {}): Promise<Store> {
  const add = (text: string) => void logged.push(text);
  const log = { info: add, warn: add, error: add };
  const store = await openEmbeddedStore({ folder, log, keepDays, now: () => now, flushMs: 3_600_000 });
  stores.push(store);
  return store;
}

/** Closes a store and opens it again. */
async function reopen(store: Store, options?: Parameters<typeof open>[0]): Promise<Store> {
  await store.close();
  stores.splice(stores.indexOf(store), 1);
  return open(options);
}

function keyOf(more: Partial<StoredKey> = {}): StoredKey {
  const limits = { rpmLimit: null, tpmLimit: null, maxParallelRequests: null, maxBudget: null, budgetDuration: null };
  const lists = { models: [], aliases: {}, allowedRoutes: [], tags: [], metadata: {} };
  const ids = { alias: null, userId: null, teamId: null };
  return {
    name: 'sk-...last',
    ...ids,
    ...lists,
    ...limits,
    expiresAt: null,
    blocked: false,
    createdAt: 1,
    updatedAt: 1,
    ...more,
  };
}

const put = (store: Store, digest: string, key: StoredKey | null) =>
  store.changeKeys(() => ({ changes: new Map([[digest, key]]), result: undefined }));
const usage = (more: Partial<RequestUsage> = {}): RequestUsage => ({
  key: 'k',
  model: 'm',
  tags: [],
  failed: false,
  inputTokens: 10,
  outputTokens: 2,
  totalTokens: 12,
  cost: 0.5,
  ...more,
});

describe('keys', () => {
  it('are on the disk when the change has returned', async () => {
    const store = await open();
    const digest = digestOf('sk-secret');
    await put(store, digest, keyOf({ alias: 'a"\n\0\u2028', metadata: { team: 'x' } }));
    expect(readFileSync(path.join(folder, 'keys.journal'), 'utf8')).toContain(digest);
    const again = await reopen(store);
    expect(again.keys.get(digest)).toEqual(keyOf({ alias: 'a"\n\0\u2028', metadata: { team: 'x' } }));
    await put(again, digest, null);
    expect((await reopen(again)).keys.size).toBe(0);
  });

  it('see the changes of two administrators at the same time, also those that are not stored yet', async () => {
    const store = await open();
    const create = (digest: string) =>
      store.changeKeys((keys) => {
        if (keys.withAlias('team') !== undefined) throw new Error('the alias is in use');
        return { changes: new Map([[digest, keyOf({ alias: 'team' })]]), result: digest };
      });
    const results = await Promise.allSettled([create('1'), create('2'), put(store, '3', keyOf()), create('4')]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    const count = (n: number) =>
      store.changeKeys((keys) => {
        const key = keys.get('3') ?? keyOf();
        const next = keyOf({ metadata: { ...key.metadata, [`n${n}`]: n } });
        return { changes: new Map([['3', next]]), result: undefined };
      });
    await Promise.all(Array.from({ length: 100 }, (_, n) => count(n)));
    expect(Object.keys(store.keys.get('3')?.metadata ?? {})).toHaveLength(100);
  });

  it('release their alias when they are renamed or deleted', async () => {
    const store = await open();
    await put(store, '1', keyOf({ alias: 'a' }));
    await put(store, '1', keyOf({ alias: 'b' }));
    const find = (alias: string) =>
      store.changeKeys((keys) => ({ changes: new Map() satisfies KeyChanges, result: keys.withAlias(alias) }));
    expect([await find('a'), await find('b')]).toEqual([undefined, '1']);
    await put(store, '1', null);
    expect(await find('b')).toBeUndefined();
  });

  it('allow one proxy at a time', async () => {
    await open();
    await expect(openEmbeddedStore({ folder, log: silent, keepDays: null, lockWaitMs: 0 })).rejects.toThrow(StoreError);
  });
});

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe('the spend of a key', () => {
  it('survives a restart, and is reset at the end of its period', async () => {
    const store = await open();
    await put(store, 'k', keyOf({ budgetDuration: '1d' }));
    store.addUsage(usage());
    store.addUsage(usage({ cost: 0.25 }));
    const again = await reopen(store);
    expect(again.spendOf('k')).toEqual({ spend: 0.75, resetAt: Date.parse('2026-11-24') });
    now += 120_000;
    const next = await reopen(again);
    expect(next.spendOf('k')).toEqual({ spend: 0, resetAt: Date.parse('2026-11-25') });
    next.addUsage(usage());
    expect(next.spendOf('k').spend).toBe(0.5);
  });

  it('is removed with the key', async () => {
    const store = await open();
    await put(store, 'k', keyOf());
    store.addUsage(usage());
    await put(store, 'k', null);
    store.addUsage(usage());
    await put(store, 'k', keyOf());
    expect(store.spendOf('k').spend).toBe(0);
    expect((await reopen(store)).spendOf('k').spend).toBe(0);
  });
});

describe('usage', () => {
  it('is counted by day, key, model and tag, and survives a restart', async () => {
    const store = await open();
    store.addUsage(usage({ tags: ['x', 'y'] }));
    store.addUsage(usage({ key: null, failed: true, cost: 0 }));
    const again = await reopen(store);
    again.addUsage(usage({ tags: ['x'] }));
    now += 120_000;
    const next = await reopen(again);
    next.addUsage(usage({ model: 'n' }));
    const numbers = { requests: 1, failed: 0, inputTokens: 10, outputTokens: 2, totalTokens: 12, cost: 0.5 };
    const twice = { requests: 2, failed: 0, inputTokens: 20, outputTokens: 4, totalTokens: 24, cost: 1 };
    const first = { day: '2026-11-23', model: 'm' };
    expect(await next.readUsage('2026-11-01', '2026-11-30')).toEqual([
      { ...first, subject: 'key', name: 'k', ...twice },
      { ...first, subject: 'tag', name: 'x', ...twice },
      { ...first, subject: 'tag', name: 'y', ...numbers },
      { ...first, subject: 'key', name: '', ...numbers, failed: 1, cost: 0 },
      { day: '2026-11-24', model: 'n', subject: 'key', name: 'k', ...numbers },
    ]);
    expect(await next.readUsage('2026-11-24', '2026-11-24')).toHaveLength(1);
  });

  it('is removed after keepDays', async () => {
    for (const day of ['2026-11-19', '2026-11-20', '2026-11-21'])
      writeFileSync(path.join(folder, `usage-${day}.journal`), '');
    writeFileSync(path.join(folder, 'usage-notes.txt'), '');
    await open({ keepDays: 3 });
    expect(
      readdirSync(folder)
        .filter((name) => name.startsWith('usage'))
        .sort(),
    ).toEqual(['usage-2026-11-21.journal', 'usage-2026-11-23.journal', 'usage-notes.txt']);
  });

  it('uses a limited amount of memory, even if clients invent tags', async () => {
    const store = await open();
    for (let n = 0; n < 10_100; n += 1) store.addUsage(usage({ tags: [`t${n}`] }));
    const rows = await store.readUsage('2026-11-23', '2026-11-23');
    expect(rows.length).toBe(1 + 10_000 + 1);
    expect(rows.find(({ name }) => name === '(other tags)')?.requests).toBe(100);
  });

  it('stays in its day while the clock is an hour late', async () => {
    const store = await open();
    now += 120_000;
    const next = await reopen(store);
    now -= 3_600_000;
    next.addUsage(usage());
    expect((await next.readUsage('2026-11-24', '2026-11-24')).length).toBe(1);
  });
});
