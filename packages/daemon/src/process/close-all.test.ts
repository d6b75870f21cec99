import { describe, expect, it } from '@jest/globals';
import { closeAfterFailure, closeInReverse } from './close-all.js';

describe('closing in reverse order', () => {
  const order: string[] = [];
  const closing = (name: string, fault?: Error) => ({
    close: () => {
      order.push(name);
      return fault === undefined ? Promise.resolve() : Promise.reject(fault);
    },
  });

  it('closes one part after the other, the last one first, and skips parts without a close', async () => {
    order.length = 0;
    await closeInReverse([closing('first'), {}, closing('last')]);
    expect(order).toEqual(['last', 'first']);
  });

  it('closes the other parts after a fault, then rejects with the fault', async () => {
    order.length = 0;
    const fault = new Error('no space');
    await expect(closeInReverse([closing('first'), closing('second', fault), closing('last')])).rejects.toBe(fault);
    expect(order).toEqual(['last', 'second', 'first']);
  });

  it('rejects with all faults if several occur', async () => {
    const faults = [new Error('no space'), new Error('a lost lock')] as const;
    await expect(closeInReverse([closing('first', faults[1]), closing('last', faults[0])])).rejects.toMatchObject({
      message: 'Error: no space; Error: a lost lock',
      errors: faults,
    });
  });
});

describe('closing after a failed start', () => {
  it('closes all parts, and logs the fault of a close instead of throwing it', async () => {
    const order: string[] = [];
    const logged: unknown[] = [];
    const log = { error: (...line: unknown[]) => void logged.push(line) };
    const error = new Error('no space');
    const last = { close: () => Promise.reject(error) };
    await closeAfterFailure([{ close: () => void order.push('first') }, last], log);
    expect([order, logged]).toEqual([['first'], [['closing after a failed start failed', { error }]]]);
  });
});
