import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { MachineQueue } from './machine-queue.js';

describe('the queue of a machine', () => {
  it('removes its listener from the signal of a finished insert', async () => {
    const queue = new MachineQueue();
    let signal = new AbortController().signal;
    const insert = (receivedSignal: AbortSignal): Promise<void> => {
      signal = receivedSignal;
      return Promise.resolve();
    };
    await queue.insert({ uuid: 'a', name: 'web-1' }, 'cdrom', insert, {});
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await queue.close();
  });

  it('runs an edit during the download of an insert, and runs a later power-on after the insert', async () => {
    const queue = new MachineQueue();
    const machine = { uuid: 'a', name: 'web-1' };
    const done: string[] = [];
    const recordEdit = (what: string) => () => Promise.resolve(void done.push(what));
    let finish = (): void => undefined;
    const download = new Promise<void>((resolve) => (finish = resolve));
    const insert = queue.insert(machine, 'cdrom', () => download.then(() => queue.edit('a', recordEdit('insert'))), {});
    const start = queue.power(machine, () => queue.edit('a', recordEdit('power')), {});
    await queue.edit('a', async () => {
      expect([queue.isEditing('a'), queue.isEditing('b')]).toEqual([true, false]);
      await recordEdit('asset tag')();
    });
    expect(done).toEqual(['asset tag']);
    finish();
    await Promise.all([insert, start]);
    expect(done).toEqual(['asset tag', 'insert', 'power']);
    await queue.close();
  });
});
