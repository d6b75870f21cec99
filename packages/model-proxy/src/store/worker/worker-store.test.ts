import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openEmbeddedStore } from '../embedded/embedded-store.js';
import type { OwnedStore } from '../store.js';
import { keyOf, readUsage } from '../../../test/store/samples.js';
import { KeyOwner } from './key-owner.js';
import type { OwnerLink } from './owner-link.js';
import { WorkerStore } from './worker-store.js';

const silent = { info: () => undefined, warn: () => undefined, error: () => undefined };
const request = {
  model: 'm',
  tags: [],
  requests: 1 as const,
  failed: false,
  inputTokens: 1,
  outputTokens: 1,
  totalTokens: 2,
};

let folder: string;
let files: OwnedStore;
let workers: WorkerStore[];
let owner: KeyOwner;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'rackless-worker-store-'));
  files = await openEmbeddedStore({ folder, log: silent, keepDays: null });
  workers = [];
  owner = new KeyOwner(files, {
    keysChanged: (keys, spends) => {
      for (const worker of workers) worker.applyKeys(keys, spends);
      return Promise.resolve();
    },
    spendsChanged: (spends, sender) => {
      for (const [index, worker] of workers.entries()) if (index !== sender) worker.applySpends(spends);
    },
    collectUsage: async () => void (await Promise.all(workers.map((worker) => worker.flush()))),
  });
});
afterEach(async () => {
  for (const worker of workers) await worker.close();
  await files.close();
  rmSync(folder, { recursive: true });
});

/** Makes the store of another worker. All messages arrive at once. */
function worker(): WorkerStore {
  const number = workers.length;
  const link: OwnerLink = {
    changeKeys: (change) => owner.changeKeys(change),
    setSpend: (digest, spend) => owner.setSpend(digest, spend),
    addBatch: (batch) => Promise.resolve(owner.addBatch(number, batch)),
    usageDays: (from, to) => owner.usageDays(from, to),
    usageOf: (day) => owner.usageOf(day),
    limits: { report: () => Promise.resolve([]), onHeartbeat: () => undefined, timeoutMs: 1 },
  };
  const store = new WorkerStore(link, owner.state(), silent);
  workers.push(store);
  return store;
}

const create = (store: WorkerStore, digest: string, alias: string | null = null) =>
  store.changeKeys(() => ({ changes: new Map([[digest, keyOf({ alias })]]), result: undefined }));

describe('the stores of workers', () => {
  it('apply the changes of other workers, and begin with earlier changes', async () => {
    const [first, second] = [worker(), worker()];
    await create(first, 'a', 'one');
    expect([second.keys.has('a'), worker().keys.has('a')]).toEqual([true, true]);
    await second.changeKeys(() => ({ changes: new Map([['a', null]]), result: undefined }));
    expect([first.keys.size, files.keys.size]).toEqual([0, 0]);
  });

  it('repeat a change whose keys another worker has changed meanwhile', async () => {
    const [first, second] = [worker(), worker()];
    const add = (store: WorkerStore, digest: string) =>
      store.changeKeys((keys) => {
        const other = keys.withAlias('only');
        if (other !== undefined) return { changes: new Map(), result: 'taken' };
        return { changes: new Map([[digest, keyOf({ alias: 'only' })]]), result: 'created' };
      });
    const results = await Promise.all([add(first, 'a'), add(second, 'b'), add(first, 'c')]);
    expect(results.sort()).toEqual(['created', 'taken', 'taken']);
  });

  it('add the costs of all workers, and include costs that they have not sent yet', async () => {
    const [first, second] = [worker(), worker()];
    await create(first, 'a');
    first.addUsage({ ...request, key: 'a', cost: 1 });
    second.addUsage({ ...request, key: 'a', cost: 2 });
    expect([first.spendOf('a').spend, second.spendOf('a').spend]).toEqual([1, 2]);
    await Promise.all([first.flush(), second.flush()]);
    expect([first.spendOf('a').spend, second.spendOf('a').spend, files.spendOf('a').spend]).toEqual([3, 3, 3]);
    await second.setSpend('a', 0.5);
    expect([first.spendOf('a').spend, second.spendOf('a').spend]).toEqual([0.5, 0.5]);
  });

  it('report the usage of all workers, also what they have not sent yet', async () => {
    const [first, second] = [worker(), worker()];
    first.addUsage({ ...request, key: null, tags: ['blue'], cost: 1 });
    second.addUsage({ ...request, key: null, tags: ['blue'], cost: 2, failed: true });
    const rows = await readUsage(first, '2000-01-01', '2100-01-01');
    expect(rows.map(({ subject, requests, failed, cost }) => ({ subject, requests, failed, cost }))).toEqual([
      { subject: 'key', requests: 2, failed: 1, cost: 3 },
      { subject: 'tag', requests: 2, failed: 1, cost: 3 },
    ]);
  });
});
