import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Server } from './server.js';
import { StatePolls, type Polls } from './state-polls.js';

const listed = { id: 'listed' } as unknown as Server; // the polls only pass it on
const single = { id: 'single' } as unknown as Server; // the polls only pass it on

describe('StatePolls', () => {
  /** The requests that were sent: `listing` or `single`. */
  let sentRequests: string[];
  /** Milliseconds until each answer. */
  let answerMs: number;
  /** Whether the listings have the server. */
  let isListed: boolean;
  let polls: StatePolls;
  beforeEach(() => {
    jest.useFakeTimers();
    sentRequests = [];
    answerMs = 1000;
    isListed = true;
    let running: Promise<void> | undefined;
    let begunAt = -Infinity;
    const refresh = async (): Promise<void> => {
      const at = performance.now();
      await request('listing');
      begunAt = at;
    };
    polls = new StatePolls({
      refresh: () =>
        (running ??= refresh().finally(() => {
          running = undefined;
        })),
      isListedSince: (since) => begunAt >= since,
      findSince: (_id, since) =>
        isListed && begunAt >= since
          ? ({ server: listed, snapshot: {}, ports: undefined, readAt: 1 } as never)
          : undefined, // only the server is read
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const request = (what: string): Promise<void> => {
    sentRequests.push(what);
    return new Promise((resolve) => setTimeout(resolve, answerMs));
  };
  const readSingle = (): Promise<Server> => request('single').then(() => single);
  /** Begins operations that do not end during the test. */
  const beginOperations = (count: number): readonly Polls[] =>
    Array.from({ length: count }, () => {
      void polls.run(() => new Promise(() => undefined));
      return polls.of('x', readSingle);
    });
  /** Reads the state for each operation. Lets the time of one answer pass. */
  const read = async (operations: readonly Polls[], since = performance.now()): Promise<readonly unknown[]> => {
    const answers = Promise.all(operations.map((operation) => operation.read(since)));
    await jest.advanceTimersByTimeAsync(answerMs);
    return answers;
  };

  it('reads the server of each operation by its own request while few operations run', async () => {
    const few = beginOperations(4);
    expect(await read(few)).toEqual([single, single, single, single]);
    expect([sentRequests, few[0]?.restMs()]).toEqual([['single', 'single', 'single', 'single'], 3000]);
  });

  it('makes one listing for many operations, and no further listing during the pause after this listing', async () => {
    const many = beginOperations(50);
    expect(new Set(await read(many))).toEqual(new Set([listed]));
    expect([sentRequests, many[0]?.restMs()]).toEqual([['listing'], 1000]);
    expect(await read(many.slice(0, 1))).toEqual([undefined]);
    expect([sentRequests, many[1]?.restMs()]).toEqual([['listing'], 0]);
    await read(many);
    expect(sentRequests).toEqual(['listing', 'listing']);
  });

  it('ignores a listing that began earlier than the time that a caller needs', async () => {
    const [first, second] = beginOperations(50);
    const early = first?.read(performance.now());
    await jest.advanceTimersByTimeAsync(500);
    const late = second?.read(performance.now());
    await jest.advanceTimersByTimeAsync(500);
    expect([await early, await late]).toEqual([listed, undefined]);
  });

  it('sends no further request if a listing has begun after the time that a caller needs', async () => {
    const many = beginOperations(50);
    const since = performance.now();
    await read(many.slice(0, 1), since);
    expect(await many[1]?.read(since)).toBe(listed);
    expect(sentRequests).toEqual(['listing']);
  });

  it('reads a server by its own request if the listing lacks it', async () => {
    isListed = false;
    const [operation] = beginOperations(50);
    const answer = operation?.read(performance.now());
    await jest.advanceTimersByTimeAsync(2 * answerMs);
    expect([await answer, sentRequests]).toEqual([single, ['listing', 'single']]);
  });

  it('pauses after a slow listing for 10 s at most while an operation sends its action, and otherwise for 1 s at most', async () => {
    answerMs = 60_000;
    const many = beginOperations(5);
    void polls.send(() => new Promise((resolve) => setTimeout(resolve, 60_500)));
    await read(many);
    expect(many[0]?.restMs()).toBe(10_000);
    await jest.advanceTimersByTimeAsync(500);
    expect(many[0]?.restMs()).toBe(500);
  });
});
