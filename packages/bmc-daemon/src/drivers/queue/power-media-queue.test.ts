import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { PowerMediaQueue } from './power-media-queue.js';

describe('the queue of a machine', () => {
  it('removes its listener from the signal of a finished insert', async () => {
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
