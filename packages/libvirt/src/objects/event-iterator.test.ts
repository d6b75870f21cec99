import { describe, expect, it } from '@jest/globals';
import { EventIterator } from './event-iterator.js';

/** Creates an iterator. `ends` returns the number of calls of `onEnd`. */
const counted = (maxQueued = 10): { readonly iterator: EventIterator<number>; readonly ends: () => number } => {
  let ends = 0;
  const iterator = new EventIterator<number>(maxQueued, () => (ends += 1));
  return { iterator, ends: () => ends };
};

const collect = async (iterator: AsyncIterable<number>): Promise<readonly number[]> => {
  const seen: number[] = [];
  for await (const event of iterator) seen.push(event);
  return seen;
};

describe('an event iterator', () => {
  it('returns queued and later events in order', async () => {
    const { iterator, ends } = counted();
    iterator.push(1);
    const all = collect(iterator);
    await Promise.resolve();
    iterator.push(2);
    iterator.push(3);
    iterator.end();
    expect(await all).toEqual([1, 2, 3]);
    expect(ends()).toBe(1);
  });

  it('ends the iteration of all waiting consumers', async () => {
    const { iterator } = counted();
    const waiters = [iterator.next(), iterator.next()];
    iterator.end();
    expect(await Promise.all(waiters)).toEqual([
      { done: true, value: undefined },
      { done: true, value: undefined },
    ]);
  });

  it('throws its error once, after the queued events', async () => {
    const { iterator, ends } = counted();
    iterator.push(1);
    iterator.fail(new Error('gone'));
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    await expect(iterator.next()).rejects.toThrow('gone');
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
    expect(ends()).toBe(1);
  });

  it('fails after the queued events if more than maxQueued events wait for the consumer', async () => {
    const { iterator, ends } = counted(2);
    for (const event of [1, 2, 3, 4]) iterator.push(event);
    expect(ends()).toBe(1);
    expect(await iterator.next()).toEqual({ done: false, value: 1 });
    expect(await iterator.next()).toEqual({ done: false, value: 2 });
    await expect(iterator.next()).rejects.toThrow('iterating over events: the consumer is 2 events behind');
  });

  it('calls onEnd and drops the queued events when the loop exits early', async () => {
    const { iterator, ends } = counted();
    iterator.push(1);
    iterator.push(2);
    for await (const event of iterator) {
      expect(event).toBe(1);
      break;
    }
    expect(ends()).toBe(1);
    expect(await iterator.next()).toEqual({ done: true, value: undefined });
  });
});
