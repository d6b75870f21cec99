import { describe, expect, it } from '@jest/globals';
import type { ChangeListener, StoredEntry } from '@rackless/daemon/shared-store/entries.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import { silentStore } from '../../../test/support/silent-store.js';
import { redfishError } from '../messages/errors.js';
import { createSharedTasks } from './shared-tasks.js';
import { parseTask, storedTask, TASK_KIND } from './stored-task.js';
import { createTaskStore } from './task-store.js';

const unlogged = { warn: () => undefined };
const newLocal = () => createTaskStore({ limit: 5, now: () => new Date('2024-01-01T00:00:00Z') });

/** Creates a running task in `local`, and returns its entry for the shared store. */
function entryOf(local = newLocal(), replica = 'other'): StoredEntry {
  const record = local.create({ name: 'Reset', targetUri: '/t' });
  return { id: record.id, revision: 1, value: storedTask(record, { replica, isCancellable: true }) };
}

/**
 * Returns a store in which no commit succeeds, as if another replica were always faster. The 1000th commit
 * rejects, so that a loop without a bound fails.
 */
function losingStore(entries: readonly StoredEntry[]) {
  let commits = 0;
  const store: SharedStore = {
    ...silentStore,
    get: (kind, id) => (kind === TASK_KIND ? entries.find((entry) => entry.id === id) : undefined),
    list: (kind) => (kind === TASK_KIND ? entries : []),
    commit: () => {
      commits += 1;
      return commits < 1000 ? Promise.resolve(false) : Promise.reject(new Error('the loop has no bound'));
    },
  };
  return { store, commits: () => commits };
}

describe('the store of shared tasks', () => {
  it("commits no change of this replica's task after another version of the daemon has changed the entry", async () => {
    const local = newLocal();
    const record = local.create({ name: 'Reset', targetUri: '/t' });
    const entry = { id: record.id, revision: 1, value: storedTask(record, { replica: 'this', isCancellable: true }) };
    const entries: StoredEntry[] = [entry];
    const { store, commits } = losingStore(entries);
    let changed: ChangeListener = () => undefined;
    const tasks = createSharedTasks(local, { ...store, onChange: (call) => void (changed = call) }, unlogged);
    entries[0] = { ...entry, revision: 2, value: { ...entry.value, record: 'of another version' } };
    changed([{ kind: TASK_KIND, id: record.id }]);
    expect(tasks.get(record.id)).toEqual(record);
    tasks.complete(record.id, []);
    await tasks.whenStored();
    expect(commits()).toBe(0);
  });

  it('stops trying to cancel a task that others change all the time, and reports a failure', async () => {
    const entry = entryOf();
    const tasks = createSharedTasks(newLocal(), losingStore([entry]).store, unlogged);
    await expect(tasks.cancel(entry.id, { user: 'admin', address: '::1' })).rejects.toThrow(StoreUnavailable);
  });

  it('stops trying to store a task that others change all the time, logs it and retries at the next call', async () => {
    const local = newLocal();
    const entry = entryOf(local, 'this');
    const { store, commits } = losingStore([entry]);
    const warnings: string[] = [];
    const tasks = createSharedTasks(local, store, { warn: (text) => void warnings.push(text) });
    tasks.setProgress(entry.id, 10);
    await tasks.whenStored();
    expect(warnings).toEqual([expect.stringContaining('storing tasks failed')]);
    const before = commits();
    expect(before).toBeLessThan(100);
    await tasks.whenStored();
    expect(commits()).toBeGreaterThan(before);
  });
});

describe('parseTask', () => {
  const local = newLocal();
  const { id } = local.create({ name: 'Reset', targetUri: '/t' });
  local.fail(id, redfishError('InternalError'));
  const [record] = local.list();
  if (record === undefined) throw new Error('the task is missing');
  const value = { record: {}, ...storedTask(record, { replica: 'other', isCancellable: false }) };
  const parse = (changed: object) =>
    parseTask({ id, revision: 1, value: { ...value, record: { ...value.record, ...changed } } });

  it('parses what storedTask returns', () => {
    expect(parse({})?.record).toEqual(record);
  });

  it.each([-1, 0.5, 8.64e15 + 1, Date.UTC(10_000, 0, 1)])('rejects the start or end time %d', (time) => {
    expect(parse({ startTime: time })).toBeUndefined();
    expect(parse({ endTime: time })).toBeUndefined();
  });

  it.each([0, 99, 200, 404.5, 600])('rejects the status %d of a failure', (status) => {
    expect(parse({ failure: { status, messages: [], headers: {} } })).toBeUndefined();
  });
});
