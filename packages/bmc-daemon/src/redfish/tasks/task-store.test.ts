import { describe, expect, it } from '@jest/globals';
import { redfishError } from '../messages/errors.js';
import { message } from '../messages/messages.js';
import { createTaskStore } from './task-store.js';

const steppingTime = () => {
  let now = Date.UTC(2024, 0, 1);
  return () => new Date((now += 1000));
};
const names = (store: ReturnType<typeof createTaskStore>) => store.list().map(({ name }) => name);

describe('the store of tasks', () => {
  it('stores state, times and progress of a task, and does not change the task after its end', () => {
    const store = createTaskStore({ limit: 5, now: steppingTime() });
    const { id } = store.create({ name: 'Insert', targetUri: '/t' });
    expect(store.get(id)).toEqual({
      id,
      name: 'Insert',
      targetUri: '/t',
      method: 'POST',
      owner: null,
      cancelledBy: null,
      state: 'Running',
      startTime: new Date('2024-01-01T00:00:01Z'),
      endTime: null,
      percent: null,
      messages: [],
      failure: null,
    });
    store.setProgress(id, 41.9);
    expect(store.get(id)?.percent).toBe(41);
    store.complete(id, [message('Success')]);
    expect(store.get(id)).toMatchObject({
      state: 'Completed',
      percent: 100,
      endTime: new Date('2024-01-01T00:00:02Z'),
    });
    store.setProgress(id, 50);
    store.fail(id, redfishError('InternalError'));
    expect(store.get(id)).toMatchObject({ state: 'Completed', percent: 100, failure: null });
  });

  it('stores the error that the request of a failed task would have received', () => {
    const store = createTaskStore({ limit: 5, now: steppingTime() });
    const { id } = store.create({ name: 'Insert', targetUri: '/t' });
    const failure = redfishError('InsufficientStorage');
    store.fail(id, failure);
    expect(store.get(id)).toMatchObject({ state: 'Exception', failure, messages: failure.messages, percent: null });
  });

  it('removes the tasks that ended first if there are too many, but none that ended in the last ten minutes', () => {
    let minutes = 0;
    const store = createTaskStore({ limit: 2, now: steppingTime(), clock: () => minutes * 60_000 });
    const first = store.create({ name: 'first', targetUri: '/' });
    const second = store.create({ name: 'second', targetUri: '/' });
    const third = store.create({ name: 'third', targetUri: '/' });
    for (const { id } of [second, first]) store.complete(id, []);
    minutes = 9.9;
    store.complete(third.id, []);
    expect(names(store)).toEqual(['first', 'second', 'third']);
    minutes = 10;
    const fourth = store.create({ name: 'fourth', targetUri: '/' });
    expect(names(store)).toEqual(['third', 'fourth']);
    store.create({ name: 'fifth', targetUri: '/' });
    store.create({ name: 'sixth', targetUri: '/' });
    minutes = 20;
    expect(names(store)).toEqual(['third', 'fourth', 'fifth', 'sixth']);
    store.complete(fourth.id, []);
    expect(names(store)).toEqual(['fourth', 'fifth', 'sixth']);
  });

  it('stores the results of ten thousand tasks that end at the same time, but not of more', () => {
    const store = createTaskStore({ limit: 100, now: steppingTime(), clock: () => 0 });
    const ids = Array.from({ length: 10_001 }, () => store.create({ name: 'task', targetUri: '/' }).id);
    const [first = '', last = ''] = [ids[0], ids.at(-1)];
    for (const id of ids.slice(0, -1)) store.complete(id, []);
    expect([store.list().length, store.get(first)?.state]).toEqual([10_001, 'Completed']);
    store.complete(last, []);
    expect([store.list().length, store.get(first), store.get(last)?.state]).toEqual([10_000, undefined, 'Completed']);
  });

  it('removes a finished task on request, but not a running one', () => {
    const store = createTaskStore({ limit: 2, now: steppingTime() });
    const { id } = store.create({ name: 'first', targetUri: '/' });
    expect(store.remove(id)).toBe(false);
    store.complete(id, []);
    expect([store.remove(id), store.remove(id), store.list()]).toEqual([true, false, []]);
  });

  it('returns the same array until a task changes, and never mutates a record', () => {
    const store = createTaskStore({ limit: 2, now: steppingTime() });
    const record = store.create({ name: 'first', targetUri: '/' });
    const before = store.list();
    expect(store.list()).toBe(before);
    store.setProgress(record.id, 10);
    expect(store.list()).not.toBe(before);
    expect(record.percent).toBeNull();
  });

  it('removes a finished task after the configured minutes, and reports every change', () => {
    let minutes = 0;
    // The wall clock jumps forward and back, as if an administrator changed it. This must not remove a task.
    const now = () => new Date(minutes % 2 === 0 ? 0 : 4e12);
    const store = createTaskStore({ limit: 5, now, clock: () => minutes * 60_000 });
    const changes: string[] = [];
    store.onChange(({ before, after }) => changes.push(`${before?.state ?? '-'} > ${after?.state ?? '-'}`));
    const running = store.create({ name: 'running', targetUri: '/' });
    const { id } = store.create({ name: 'first', targetUri: '/' });
    expect(store.keepMinutes).toBe(1440);
    store.setKeepMinutes(10);
    store.complete(id, []);
    minutes = 9;
    expect(store.get(id)?.state).toBe('Completed');
    minutes = 10;
    expect(store.get(id)?.state).toBe('Completed');
    minutes = 10.1;
    expect(store.get(id)).toBeUndefined();
    expect(names(store)).toEqual(['running']);
    store.setProgress(running.id, 5.2);
    store.setProgress(running.id, 5.9);
    expect(changes).toEqual([
      '- > Running',
      '- > Running',
      'Running > Completed',
      'Completed > -',
      'Running > Running',
    ]);
  });

  it('asks the work of a task to stop only once, and only if the task has a cancel function', async () => {
    const store = createTaskStore({ limit: 5, now: steppingTime() });
    let asked = 0;
    const requester = { user: null, address: '' };
    const { id } = store.create({ name: 'first', targetUri: '/', cancel: () => (asked += 1) });
    const fixed = store.create({ name: 'second', targetUri: '/' });
    expect([id, id, fixed.id, 'none'].map((each) => store.cancel(each, requester))).toEqual([true, true, false, false]);
    expect([asked, store.get(id)?.state, store.remove(id)]).toEqual([1, 'Cancelling', false]);
    const ended = store.whenEnded(id);
    store.markCancelled(id);
    await ended;
    expect([store.get(id)?.state, store.cancel(id, requester), store.remove(id)]).toEqual(['Cancelled', false, true]);
    await store.whenEnded('none');
  });
});
