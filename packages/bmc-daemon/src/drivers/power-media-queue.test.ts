import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { PowerMediaQueue } from './power-media-queue.js';

describe('the queue of a machine', () => {
  it('keep no listener on the signal of an insert that has ended', async () => {
    const queue = new PowerMediaQueue();
    let signal = new AbortController().signal;
    const insert = (given: AbortSignal): Promise<void> => {
      signal = given;
      return Promise.resolve();
    };
    await queue.insert({ uuid: 'a', name: 'web-1' }, 'cdrom', insert, {});
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await queue.close();
  });
});
