/**
 * Kills starts of the embedded store: the first one before its first call that opens or changes a file, the next one
 * before its second call, and so on, until a start succeeds.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../../src/store/embedded/embedded-store.js';
import { keyOf, put, requestOf } from './samples.js';

const OPENER = path.join(import.meta.dirname, 'killed-opener.js');
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'rackless-store-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Makes a store with two keys and a spend of each key. */
async function fillFolder(): Promise<void> {
  const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
  const store = await openEmbeddedStore({ folder, log, keepDays: null });
  for (const key of ['k', 'l']) {
    await put(store, key, keyOf());
    store.addUsage(requestOf({ key, cost: 5 }));
  }
  await store.close();
}

/**
 * Opens the store in a process that ends with SIGKILL before its call number `call` that opens or changes a file.
 * @returns whether the process reached that call.
 */
function openAndKill(call: number): boolean {
  const child = spawnSync(process.execPath, [OPENER, folder, String(call)], { stdio: ['ignore', 'ignore', 'inherit'] });
  if (child.signal !== 'SIGKILL' && child.status !== 0) throw new Error(`the process ended with ${child.status ?? ''}`);
  return child.signal === 'SIGKILL';
}

/** Opens the store after the killed start, and returns its keys with their spends, and its log. Closes the store. */
async function readStore() {
  const problems: string[] = [];
  const add = (text: string) => void problems.push(text);
  const store = await openEmbeddedStore({ folder, log: { info: add, warn: add, error: add }, keepDays: null });
  const found = [...store.keys.keys()].map((digest) => `${digest} ${store.spendOf(digest).spend}`).sort();
  await store.close();
  return { found, problems };
}

const keysFile = () => path.join(folder, 'keys.journal');
const damage = () => writeFileSync(keysFile(), readFileSync(keysFile(), 'utf8').replace('"k"', '"K"'));
const tear = () => writeFileSync(keysFile(), readFileSync(keysFile()).subarray(0, -3));
const filesAside = () => readdirSync(folder).filter((name) => name.includes('damaged'));

describe('a killed start', () => {
  it.each([
    ['damaged', damage, ['l 5']],
    ['torn', tear, ['k 5', 'l 0']],
    ['complete', () => undefined, ['k 5', 'l 5']],
    ['missing', () => rmSync(keysFile()), []],
  ])('loses no readable line of a file that is %s', async (_state, change, expected) => {
    let calls = 0;
    let isKilled = true;
    while (isKilled) {
      rmSync(folder, { recursive: true });
      await fillFolder();
      change();
      const before = existsSync(keysFile()) ? readFileSync(keysFile(), 'utf8') : '';
      calls += 1;
      isKilled = openAndKill(calls);
      const { found } = await readStore();
      expect([calls, found]).toEqual([calls, expected]);
      const copies = filesAside().map((name) => readFileSync(path.join(folder, name), 'utf8'));
      if (change === damage) expect(copies).toContain(before);
      else expect(copies).toEqual([]);
    }
    // Each start at least creates a lock, writes the first line of the day's usage file, and removes the lock.
    expect(calls).toBeGreaterThan(3);
  });
});
