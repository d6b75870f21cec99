import { describe, expect, it } from '@jest/globals';
import { RedfishError } from '../messages/errors.js';
import { ExpansionBudget, type ExpansionLimits } from './expansion-budget.js';

const neverAborted = new AbortController().signal;

/**
 * Opens a budget. `run` starts work with a name for a client, `started` has the names of started work, and `end` ends
 * work by its name.
 */
function open(limits: Partial<ExpansionLimits> = {}) {
  const budget = new ExpansionBudget(limits);
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (client: string, name: string, signal = neverAborted): Promise<string> =>
    budget.run(client, signal, async () => {
      started.push(name);
      await new Promise<void>((resolve) => ends.set(name, resolve));
      return name;
    });
  const end = async (name: string): Promise<void> => {
    // Each request starts in a separate turn of the event loop, so `end` waits for one turn before and one turn after.
    await new Promise(setImmediate);
    ends.get(name)?.();
    await new Promise(setImmediate);
  };
  return { budget, started, run, end };
}

const errorWithStatus = (status: number) => expect.objectContaining({ status }) as unknown;

describe('the budget of expansions', () => {
  it('gives each client one turn before any client has its second turn', async () => {
    const { started, run, end } = open({ atOnce: 2 });
    const all = ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].map((name) => run(name.slice(0, 1), name));
    await new Promise(setImmediate);
    expect(started).toEqual(['a1', 'b1']);
    await end('a1');
    expect(started).toEqual(['a1', 'b1', 'c1']);
    await end('b1');
    expect(started).toEqual(['a1', 'b1', 'c1', 'a2']);
    await end('a2');
    expect(started.at(-1)).toBe('b2');
    for (const name of ['c1', 'b2', 'a3']) await end(name);
    expect(await Promise.all(all)).toHaveLength(6);
  });

  it('continues after failed work', async () => {
    const { budget, run, end } = open({ atOnce: 1 });
    await expect(budget.run('a', neverAborted, () => Promise.reject(new Error('x')))).rejects.toThrow('x');
    const next = run('a', 'a1');
    await new Promise(setImmediate);
    await end('a1');
    expect(await next).toBe('a1');
  });

  it('rejects a request with 503 and Retry-After if too many requests of its client, or of all clients, wait', async () => {
    const { run, end } = open({ atOnce: 1, waitingPerClient: 1, waiting: 2 });
    const waits = [run('a', 'a1'), run('a', 'a2'), run('b', 'b1')];
    const fault: unknown = await run('a', 'a3').catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(RedfishError);
    expect(fault).toMatchObject({ status: 503, headers: { 'Retry-After': '5' } });
    await expect(run('c', 'c1')).rejects.toEqual(errorWithStatus(503));
    for (const name of ['a1', 'b1', 'a2']) await end(name);
    expect(await Promise.all(waits)).toEqual(['a1', 'a2', 'b1']);
  });

  it('rejects a request that waited too long with 503, and frees its place', async () => {
    const { started, run, end } = open({ atOnce: 1, waitMs: 1 });
    const first = run('a', 'a1');
    await expect(run('b', 'b1')).rejects.toEqual(errorWithStatus(503));
    await end('a1');
    expect(await first).toBe('a1');
    const next = run('c', 'c1');
    await end('c1');
    expect(await next).toBe('c1');
    expect(started).toEqual(['a1', 'c1']);
  });

  it('rejects a waiting request whose client disconnects, and never starts it', async () => {
    const { started, run, end } = open({ atOnce: 1 });
    const first = run('a', 'a1');
    const gone = new AbortController();
    const waiting = run('a', 'a2', gone.signal);
    gone.abort();
    await expect(waiting).rejects.toEqual(errorWithStatus(503));
    await expect(run('a', 'a3', gone.signal)).rejects.toEqual(errorWithStatus(503));
    await end('a1');
    expect(await first).toBe('a1');
    expect(started).toEqual(['a1']);
  });

  it('delays a client with too many unread bytes, and not other clients', async () => {
    const { budget, started, run, end } = open({ unreadBytesPerClient: 100 });
    const read = budget.hold('a', 150);
    const held = run('a', 'a1');
    const other = run('b', 'b1');
    await new Promise(setImmediate);
    expect(started).toEqual(['b1']);
    read(60);
    await new Promise(setImmediate);
    expect(started).toEqual(['b1', 'a1']);
    read(90);
    await end('a1');
    await end('b1');
    expect(await Promise.all([held, other])).toEqual(['a1', 'b1']);
  });

  it('delays another client too while too many bytes are unread in total', async () => {
    const { budget, started, run, end } = open({ unreadBytes: 100 });
    const read = budget.hold('a', 100);
    const other = run('b', 'b1');
    await new Promise(setImmediate);
    expect(started).toEqual([]);
    read(100);
    await new Promise(setImmediate);
    await end('b1');
    expect(await other).toBe('b1');
  });
});
