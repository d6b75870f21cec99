import { describe, expect, it } from '@jest/globals';
import { OperationQueue } from './operation-queue.js';

/** Returns an operation that the test ends, and that records its start. */
function heldOperation(
  log: string[],
  name: string,
): { operation: () => Promise<string>; end: () => void; fail: () => void } {
  let end: () => void = () => undefined;
  let fail: () => void = () => undefined;
  const ended = new Promise<string>((resolve, reject) => {
    end = () => resolve(name);
    fail = () => reject(new Error(name));
  });
  return {
    operation: () => {
      log.push(name);
      return ended;
    },
    end,
    fail,
  };
}

const passTurns = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
};

describe('the operation queue', () => {
  it('starts an operation after the earlier one of the machine has ended', async () => {
    const queue = new OperationQueue();
    const log: string[] = [];
    const [insert, powerOn] = [heldOperation(log, 'insert'), heldOperation(log, 'power-on')];
    const first = queue.run('a', insert.operation);
    const second = queue.run('a', powerOn.operation);
    await passTurns();
    expect(log).toEqual(['insert']);
    insert.end();
    await expect(first).resolves.toBe('insert');
    await passTurns();
    expect(log).toEqual(['insert', 'power-on']);
    powerOn.end();
    await expect(second).resolves.toBe('power-on');
    expect(queue.isBusy('a')).toBe(false);
  });

  it('continues after a failed operation', async () => {
    const queue = new OperationQueue();
    const log: string[] = [];
    const [insert, powerOn] = [heldOperation(log, 'insert'), heldOperation(log, 'power-on')];
    const first = queue.run('a', insert.operation);
    const second = queue.run('a', powerOn.operation);
    insert.fail();
    powerOn.end();
    await expect(first).rejects.toThrow('insert');
    await expect(second).resolves.toBe('power-on');
  });

  it('does not make one machine wait for another', async () => {
    const queue = new OperationQueue();
    const log: string[] = [];
    const [slow, quick] = [heldOperation(log, 'slow'), heldOperation(log, 'quick')];
    const first = queue.run('a', slow.operation);
    quick.end();
    await expect(queue.run('b', quick.operation)).resolves.toBe('quick');
    slow.end();
    await first;
  });

  it('removes a waiting operation when its request is aborted', async () => {
    const queue = new OperationQueue();
    const log: string[] = [];
    const [insert, powerOn, eject] = [
      heldOperation(log, 'insert'),
      heldOperation(log, 'power-on'),
      heldOperation(log, 'eject'),
    ];
    const controller = new AbortController();
    const first = queue.run('a', insert.operation);
    const second = queue.run('a', powerOn.operation, { signal: controller.signal });
    const third = queue.run('a', eject.operation);
    controller.abort(new Error('gone'));
    await expect(second).rejects.toThrow('gone');
    insert.end();
    eject.end();
    await first;
    await third;
    expect(log).toEqual(['insert', 'eject']);
    await expect(queue.run('a', insert.operation, { signal: controller.signal })).rejects.toThrow('gone');
  });

  it('cancels waiting operations of a label, but not the running one', async () => {
    const queue = new OperationQueue();
    const log: string[] = [];
    const [insert, powerOn, eject] = [
      heldOperation(log, 'insert'),
      heldOperation(log, 'power-on'),
      heldOperation(log, 'eject'),
    ];
    const first = queue.run('a', insert.operation, { label: 'power' });
    const second = queue.run('a', powerOn.operation, { label: 'power' });
    const third = queue.run('a', eject.operation, { label: 'media' });
    queue.cancelWaiting('a', 'power', new Error('switched off'));
    await expect(second).rejects.toThrow('switched off');
    insert.end();
    eject.end();
    await expect(first).resolves.toBe('insert');
    await expect(third).resolves.toBe('eject');
  });

  it('cancels the waiting operations of a label before the first waiting operation of a given other label', async () => {
    const queue = new OperationQueue();
    const log: string[] = [];
    const insert = heldOperation(log, 'insert');
    const recordDone = (name: string) => (): Promise<void> => Promise.resolve(void log.push(name));
    const first = queue.run('a', insert.operation, { label: 'media' });
    const cancelled = ['on', 'restart'].map((name) => queue.run('a', recordDone(name), { label: 'power' }));
    const outcome = Promise.allSettled(cancelled);
    const rest = [
      queue.run('a', recordDone('unlabelled')),
      queue.run('a', recordDone('eject'), { label: 'media' }),
      queue.run('a', recordDone('on again'), { label: 'power' }),
    ];
    queue.cancelWaiting('a', 'power', new Error('no image'), { before: 'media' });
    expect(await outcome).toEqual(cancelled.map(() => ({ status: 'rejected', reason: new Error('no image') })));
    insert.end();
    await first;
    await Promise.all(rest);
    expect(log).toEqual(['insert', 'unlabelled', 'eject', 'on again']);
  });

  it('rejects waiting operations on close, and waits for the running one', async () => {
    const queue = new OperationQueue();
    const log: string[] = [];
    const [insert, powerOn] = [heldOperation(log, 'insert'), heldOperation(log, 'power-on')];
    const first = queue.run('a', insert.operation);
    const second = queue.run('a', powerOn.operation);
    let closed = false;
    const closing = queue.close().then(() => (closed = true));
    await expect(second).rejects.toThrow('shutting down');
    expect(closed).toBe(false);
    insert.end();
    await first;
    await closing;
    expect(log).toEqual(['insert']);
    await queue.close();
  });
});
