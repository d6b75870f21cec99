import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { MachineQueue } from './machine-queue.js';

describe('the queue of a machine', () => {
  it('removes its listener from the signal of a finished insert', async () => {
    const queue = new MachineQueue();
    let signal = new AbortController().signal;
    const insert = (given: AbortSignal): Promise<void> => {
      signal = given;
      return Promise.resolve();
    };
    await queue.insert({ uuid: 'a', name: 'web-1' }, 'cdrom', insert, {});
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await queue.close();
  });

  it('does not let an edit wait for a download, and orders the edits', async () => {
    const queue = new MachineQueue();
    const machine = { uuid: 'a', name: 'web-1' };
    const done: string[] = [];
    const note = (what: string) => () => Promise.resolve(void done.push(what));
    let finish = (): void => undefined;
    const download = new Promise<void>((resolve) => (finish = resolve));
    const insert = queue.insert(machine, 'cdrom', () => download.then(() => queue.edit('a', note('insert'))), {});
    const start = queue.power(machine, () => queue.edit('a', note('power')), {});
    await queue.edit('a', async () => {
      expect([queue.isEditing('a'), queue.isEditing('b')]).toEqual([true, false]);
      await note('asset tag')();
    });
    expect(done).toEqual(['asset tag']);
    finish();
    await Promise.all([insert, start]);
    expect(done).toEqual(['asset tag', 'insert', 'power']);
    await queue.close();
  });
});
