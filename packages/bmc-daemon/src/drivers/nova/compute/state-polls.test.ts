import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Server } from './server.js';
import { StatePolls, type Polls } from './state-polls.js';

const known = { id: 'known' } as unknown as Server; // the polls only pass it on
const single = { id: 'single' } as unknown as Server; // as above

describe('StatePolls', () => {
  /** Listings and single reads. */
  let asked: string[];
  /** Duration of an answer. */
  let answerMs: number;
  let polls: StatePolls;
  beforeEach(() => {
    jest.useFakeTimers();
    asked = [];
    answerMs = 1000;
    let running: Promise<void> | undefined;
    polls = new StatePolls({
      refresh: () =>
        (running ??= request('listing').finally(() => {
          running = undefined;
        })),
      find: () => ({ server: known, snapshot: {}, ports: undefined, readAt: 1 }) as never, // only these members are read
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const request = (what: string): Promise<void> => {
    asked.push(what);
    return new Promise((resolve) => setTimeout(resolve, answerMs));
  };
  /** Begins operations that wait until the test ends. */
  const begin = async (count: number): Promise<readonly Polls[]> => {
    const begun: Polls[] = [];
    const readSingle = (): Promise<Server> => request('single').then(() => single);
    for (let index = 0; index < count; index += 1) {
      void polls.run({ id: 'x', acceptedAt: 0, readSingle }, (own) => {
        begun.push(own);
        return new Promise(() => undefined);
      });
    }
    await Promise.resolve();
    return begun;
  };
  const read = async (operations: readonly Polls[]): Promise<readonly Server[]> => {
    const answers = Promise.all(operations.map((operation) => operation.read()));
    await jest.advanceTimersByTimeAsync(answerMs);
    return answers;
  };

  it('reads the server of each operation while few operations wait', async () => {
    const few = await begin(4);
    expect(await read(few)).toEqual([single, single, single, single]);
    expect([asked, few[0]?.restMs()]).toEqual([['single', 'single', 'single', 'single'], 3000]);
  });

  it('makes one listing for many operations, and no further one before its rest is over', async () => {
    const many = await begin(50);
    expect(new Set(await read(many))).toEqual(new Set([known]));
    expect([asked, many[0]?.restMs()]).toEqual([['listing'], 3000]);
    await jest.advanceTimersByTimeAsync(2000);
    await read(many.slice(0, 1));
    expect([asked, many[1]?.restMs()]).toEqual([['listing'], 0]);
    await read(many);
    expect(asked).toEqual(['listing', 'listing']);
  });

  it('rests at most 10 s', async () => {
    answerMs = 60_000;
    const many = await begin(5);
    await read(many);
    expect(many[0]?.restMs()).toBe(10_000);
  });
});
