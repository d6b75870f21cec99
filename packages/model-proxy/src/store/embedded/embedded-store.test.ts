import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { waitFor } from '../../../test/harness/wait.js';
import { keyOf, put, readUsage, requestOf as usage } from '../../../test/store/samples.js';
import { digestOf } from '../keys.js';
import { StoreError, type KeyChanges, type Store } from '../store.js';
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

/** Options of {@link open}. */
interface OpenOptions {
  readonly keepDays?: number | null;
  readonly flushMs?: number;
}

async function open({ keepDays = null, flushMs = 3_600_000 }: OpenOptions = {}): Promise<Store> {
  const add = (text: string) => void logged.push(text);
  const log = { info: add, warn: add, error: add };
  const store = await openEmbeddedStore({ folder, log, keepDays, now: () => now, flushMs });
  stores.push(store);
  return store;
}

/** Closes a store and opens it again. */
async function reopen(store: Store, options?: Parameters<typeof open>[0]): Promise<Store> {
  await store.close();
  stores.splice(stores.indexOf(store), 1);
  return open(options);
}

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

  it('can be changed at the same time: each change sees earlier changes that are not stored yet', async () => {
    const store = await open();
    const create = (digest: string) =>
      store.changeKeys((keys) => {
        if (keys.withAlias('team') !== undefined) throw new Error('the alias is in use');
        return { changes: new Map([[digest, keyOf({ alias: 'team' })]]), result: digest };
      });
    const results = await Promise.allSettled([create('1'), create('2'), put(store, '3', keyOf()), create('4')]);
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected']);
    const addMember = (n: number) =>
      store.changeKeys((keys) => {
        const key = keys.get('3') ?? keyOf();
        const next = keyOf({ metadata: { ...key.metadata, [`n${n}`]: n } });
        return { changes: new Map([['3', next]]), result: undefined };
      });
    await Promise.all(Array.from({ length: 100 }, (_, n) => addMember(n)));
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

  it('are in a folder that only one proxy at a time can open', async () => {
    await open();
    await expect(openEmbeddedStore({ folder, log: silent, keepDays: null, lockWaitMs: 0 })).rejects.toThrow(StoreError);
  });
});

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };

describe('the spend of a key', () => {
  it('does not apply to a new key with the same digest, even if the spend is written after the deletion', async () => {
    const store = await open();
    await put(store, 'k', keyOf());
    store.addUsage(usage());
    // The deletion waits for the disk while the store writes the spend.
    const deleted = put(store, 'k', null);
    const again = await reopen(store);
    await deleted;
    expect(readFileSync(path.join(folder, 'keys.journal'), 'utf8')).toMatch(/"key","k",null.*\n.*"spend","k",\{/);
    await put(again, 'k', keyOf());
    expect(again.spendOf('k').spend).toBe(0);
    expect((await reopen(again)).spendOf('k').spend).toBe(0);
  });

  it('is on the disk when the change of an administrator has returned', async () => {
    const store = await open();
    await put(store, 'k', keyOf());
    store.addUsage(usage());
    await store.setSpend('k', 3);
    expect(readFileSync(path.join(folder, 'keys.journal'), 'utf8')).toContain('["spend","k",{"spend":3,');
  });
});

describe('usage', () => {
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

  it('stays in the day that has begun, even if the clock goes back by an hour', async () => {
    const store = await open();
    now += 120_000;
    const next = await reopen(store);
    now -= 3_600_000;
    next.addUsage(usage());
    expect((await readUsage(next, '2026-11-24', '2026-11-24')).length).toBe(1);
  });

  it('counts for the present day again, after the clock was far ahead', async () => {
    now = Date.parse('2027-11-23T12:00:00Z');
    const store = await open({ flushMs: 10 });
    const isCounted = async (each: Store) => (await readUsage(each, '2026-11-23', '2026-11-23')).length === 1;
    store.addUsage(usage());
    now = Date.parse('2026-11-23T12:00:00Z');
    await waitFor(
      async () => {
        store.addUsage(usage());
        return (await isCounted(store)) ? true : undefined;
      },
      () => 'the day stays in the future',
      20_000,
    );
    const again = await reopen(store);
    expect([await isCounted(again), (await readUsage(again, '2027-11-23', '2027-11-23')).length]).toEqual([true, 1]);
  });
});
