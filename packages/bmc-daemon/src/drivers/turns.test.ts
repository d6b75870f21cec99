import { getEventListeners } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { Turns } from './turns.js';

describe('the turns of a machine', () => {
  it('keep no listener on the signal of an insert that has ended', async () => {
    const turns = new Turns();
    let signal = new AbortController().signal;
    const insert = (given: AbortSignal): Promise<void> => {
      signal = given;
      return Promise.resolve();
    };
    await turns.insert({ uuid: 'a', name: 'web-1' }, 'cdrom', insert, {});
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await turns.close();
  });
});
