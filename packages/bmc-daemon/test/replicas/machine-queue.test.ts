/** The queue of a machine that two replicas share, with a real Redis. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DriverError } from '../../src/drivers/driver-error.js';
import { MachineQueue } from '../../src/drivers/queue/machine-queue.js';
import { openSharedQueues } from '../../src/drivers/queue/shared-operations.js';
import { connectRedis, type RedisLink } from '@rackless/daemon/shared-store/redis-link.js';
import { openSharedStore, type SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { waitFor } from '../daemon/process.js';
import { startRedis, type PrivateRedis } from '../../../daemon/test/support/redis.js';

const machine = { uuid: 'u', name: 'web-1' };
const log = { info: () => undefined, warn: () => undefined, error: () => undefined };

let redis: PrivateRedis;
let link: RedisLink;
let stores: SharedStore[];
let a: MachineQueue;
let b: MachineQueue;
beforeEach(async () => {
  redis = await startRedis();
  link = await connectRedis(redis.url);
  stores = [await openSharedStore(redis.url, 'bmc-daemon', log), await openSharedStore(redis.url, 'bmc-daemon', log)];
  const [first, second] = await Promise.all(stores.map((store) => openSharedQueues(store)));
  [a, b] = [new MachineQueue(first), new MachineQueue(second)];
});
afterEach(async () => {
  await Promise.all([a.close(), b.close()]);
  for (const store of stores) await store.close();
  link.close();
  await redis.stop();
});

/** Waits until the shared queue of operations (or of edits) has this number of entries. */
const queued = (count: number, kind = 'operation') =>
  waitFor(
    async () => ((await link.command(['ZCARD', `{bmc-daemon}:lease:queue:${kind}:u`])) === count ? true : undefined),
    () => `there are never ${count} operations`,
  );
/** Returns an operation that runs until the test calls `end` or `fail`. */
function heldOperation() {
  let end = (): void => undefined;
  let fail = (_error: Error): void => undefined;
  const ended = new Promise<void>((resolve, reject) => ([end, fail] = [resolve, reject]));
  return { run: () => ended, end: () => end(), fail: (error: Error) => fail(error) };
}
/** Returns kind and message of a DriverError, any other error itself, or `done`. */
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof DriverError ? [error.kind, error.message] : error),
  );

it('the queue of a machine runs the edits of both replicas in the order of their arrival', async () => {
  const done: string[] = [];
  const first = heldOperation();
  const edits = [a.edit('u', () => first.run())];
  await queued(1, 'edit');
  for (const [index, queue] of [b, a, a, b].entries()) {
    edits.push(queue.edit('u', () => Promise.resolve(void done.push(`${index}`))));
    await queued(index + 2, 'edit');
  }
  await a.edit('another machine', () => Promise.resolve(void done.push('another machine')));
  first.end();
  await Promise.all(edits);
  expect(done).toEqual(['another machine', '0', '1', '2', '3']);
  await queued(0, 'edit');
});

it('the queue of a machine rejects a start at one replica if the insert before it failed at another', async () => {
  const download = heldOperation();
  const insert = errorOf(a.insert(machine, 'cdrom', download.run, {}));
  await queued(1);
  const before = errorOf(b.power(machine, () => Promise.resolve(), {}));
  await queued(2);
  const eject = errorOf(b.eject(machine, 'floppy', () => Promise.resolve(), {}));
  await queued(3);
  const after = errorOf(a.power(machine, () => Promise.resolve(), {}));
  await queued(4);
  download.fail(new DriverError('mediaNotFound', 'no such image'));
  expect(await insert).toEqual(['mediaNotFound', 'no such image']);
  const why = 'starting machine web-1: the image that it waited for was not inserted: no such image';
  expect(await before).toEqual(['insertFailed', why]);
  expect(await Promise.all([eject, after])).toEqual(['done', 'done']);
});

it('the queue of a machine cancels an insert of one replica after an eject at another', async () => {
  const begun = heldOperation();
  const insert = errorOf(
    a.insert(
      machine,
      'cdrom',
      (signal) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error));
          begun.end();
        }),
      {},
    ),
  );
  await begun.run();
  await b.eject(machine, 'cdrom', () => Promise.resolve(), {});
  expect(await insert).toEqual([
    'insertFailed',
    'inserting an image into machine web-1: an eject of the drive cancelled it',
  ]);
});

it('the queue of a machine cancels a start that waits at one replica after a power-off at another', async () => {
  const download = heldOperation();
  const insert = a.insert(machine, 'cdrom', download.run, {});
  await queued(1);
  const start = errorOf(b.power(machine, () => Promise.resolve(), {}));
  await queued(2);
  a.switchOff(machine, new DriverError('conflict', 'starting machine web-1: it was switched off'));
  expect(await start).toEqual(['conflict', 'starting machine web-1: it was switched off']);
  download.end();
  await insert;
});

it('the queue of a machine removes an operation that is aborted while it waits', async () => {
  const first = heldOperation();
  const edit = a.power(machine, first.run, {});
  await queued(1);
  const aborting = new AbortController();
  const second = errorOf(b.power(machine, () => Promise.resolve(), { signal: aborting.signal }));
  await queued(2);
  aborting.abort(new DriverError('unavailable', 'the client has disconnected'));
  expect(await second).toEqual(['unavailable', 'the client has disconnected']);
  await queued(1);
  first.end();
  await edit;
});

it('the queue of a machine rejects writes of an operation that Redis has lost, and begins the next one', async () => {
  const [begun, write] = [heldOperation(), heldOperation()];
  const first = errorOf(
    a.edit('u', async (check) => {
      begun.end();
      await write.run();
      await check?.();
    }),
  );
  await begun.run();
  const second = heldOperation();
  const waiting = errorOf(b.edit('u', () => second.run()));
  await queued(2, 'edit');
  await redis.flush();
  // The second operation joins the queue again, and is now the first one.
  await queued(1, 'edit');
  write.end();
  expect(await first).toEqual(['unavailable', expect.stringContaining('did not answer for too long')]);
  second.end();
  expect(await waiting).toBe('done');
});

it('the queue of a machine rejects operations while Redis does not answer, and runs new ones afterwards', async () => {
  redis.pause();
  await expect(a.edit('u', () => Promise.resolve('done'))).rejects.toThrow('the shared store does not answer');
  redis.resume();
  await waitFor(
    () => a.edit('u', () => Promise.resolve('done')).catch(() => undefined),
    () => 'the queue does not recover',
  );
});

it('the queue of a machine rejects waiting operations at the shutdown of their replica', async () => {
  const first = heldOperation();
  const running = a.edit('u', first.run);
  await queued(1, 'edit');
  const waiting = errorOf(b.edit('u', () => Promise.resolve()));
  await queued(2, 'edit');
  await b.close();
  expect(await waiting).toEqual(['unavailable', 'waiting for an earlier operation: the service is shutting down']);
  first.end();
  await running;
});
