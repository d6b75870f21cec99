import { describe, expect, it } from '@jest/globals';
import { DriverError } from '../../drivers/driver-error.js';
import { message, type Message } from '../messages/messages.js';
import { runLongOperation, type LongOperation } from './long-operation.js';
import { createTaskStore } from './task-store.js';

const options = (waitMs: number) => {
  const tasks = createTaskStore({ limit: 10, now: () => new Date(0) });
  const failed: string[] = [];
  return {
    tasks,
    failed,
    waitMs,
    onTaskFailed: (failure: Error, name: string) => failed.push(`${name}: ${failure.message}`),
  };
};
const operation = (run: LongOperation['run']): LongOperation => ({
  name: 'Insert a.iso',
  context: { path: '/target', action: 'VirtualMedia.InsertMedia', body: {} },
  run,
});
const deferred = () => {
  let resolve: (messages: readonly Message[] | undefined) => void = () => undefined;
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<readonly Message[] | undefined>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
};
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

describe('a long operation', () => {
  it('answers like a plain operation if it ends in time', async () => {
    const settings = options(60_000);
    expect(
      await runLongOperation(
        operation(() => Promise.resolve(undefined)),
        settings,
      ),
    ).toBeUndefined();
    const done = [message('Success')];
    expect(
      await runLongOperation(
        operation(() => Promise.resolve(done)),
        settings,
      ),
    ).toEqual({ messages: done });
    const broken = new DriverError('storageFull', 'no');
    await expect(
      runLongOperation(
        operation(() => Promise.reject(broken)),
        settings,
      ),
    ).rejects.toBe(broken);
    expect(settings.tasks.list()).toEqual([]);
  });

  it('becomes a task if it does not end in time, and continues', async () => {
    const settings = options(1);
    const work = deferred();
    let progress: (percent: number) => void = () => undefined;
    const result = await runLongOperation(
      operation(({ progress: report }) => {
        report(5);
        progress = report;
        return work.promise;
      }),
      settings,
    );
    const [record] = settings.tasks.list();
    expect(record).toMatchObject({ name: 'Insert a.iso', targetUri: '/target', state: 'Running', percent: 5 });
    const id = record?.id ?? '';
    expect(result).toEqual({
      task: { monitor: `/redfish/v1/TaskService/TaskMonitors/${id}`, task: `/redfish/v1/TaskService/Tasks/${id}` },
    });
    progress(60);
    expect(settings.tasks.get(id)?.percent).toBe(60);
    work.resolve(undefined);
    await nextTurn();
    expect(settings.tasks.get(id)).toMatchObject({ state: 'Completed', percent: 100 });
  });

  it('has its failure stored in the task and reported for the log if it has become a task', async () => {
    const settings = options(1);
    const work = deferred();
    await runLongOperation(
      operation(() => work.promise),
      settings,
    );
    work.reject(new DriverError('storageFull', 'writing a.iso on host: no space'));
    await nextTurn();
    expect(settings.tasks.list()[0]).toMatchObject({ state: 'Exception', failure: { status: 507 } });
    expect(settings.failed).toEqual([
      'Insert a.iso: The host does not have enough free storage for this request. Writing a.iso on host: no space.',
    ]);
  });

  it('ends as cancelled if it obeys the signal to cancel, and as completed if it ignores the signal', async () => {
    const settings = options(1);
    const requester = { user: 'admin', address: '192.0.2.7' };
    const aborting = {
      ...operation(
        ({ signal }) =>
          new Promise((_resolve, reject) =>
            signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
          ),
      ),
      cancellable: true,
      requester,
    };
    const work = deferred();
    const late = { ...operation(() => work.promise), cancellable: true };
    const fixed = operation(() => work.promise);
    for (const each of [aborting, late, fixed]) await runLongOperation(each, settings);
    const { tasks } = settings;
    const ids = tasks.list().map(({ id }) => id);
    const states = () => ids.map((id) => tasks.get(id)?.state);
    expect(tasks.list().map(({ owner, method }) => ({ owner, method }))).toEqual([
      { owner: requester, method: 'POST' },
      { owner: null, method: 'POST' },
      { owner: null, method: 'POST' },
    ]);
    expect(ids.map((id) => tasks.cancel(id, requester))).toEqual([true, true, false]);
    expect(states()).toEqual(['Cancelling', 'Cancelling', 'Running']);
    await tasks.whenEnded(ids[0] ?? '');
    expect(states()).toEqual(['Cancelled', 'Cancelling', 'Running']);
    work.resolve(undefined);
    await Promise.all(ids.map((id) => tasks.whenEnded(id)));
    expect(states()).toEqual(['Cancelled', 'Completed', 'Completed']);
    expect(settings.failed).toEqual([]);
  });

  it('ends as failed if it throws another error during a cancellation', async () => {
    const settings = options(1);
    const work = deferred();
    await runLongOperation({ ...operation(() => work.promise), cancellable: true }, settings);
    const [record] = settings.tasks.list();
    settings.tasks.cancel(record?.id ?? '', { user: null, address: '' });
    work.reject(new DriverError('storageFull', 'writing a.iso on host: no space'));
    await settings.tasks.whenEnded(record?.id ?? '');
    expect(settings.tasks.list()[0]).toMatchObject({ state: 'Exception', failure: { status: 507 } });
  });
});
