import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { TokenFault, TokenSource, type FetchedToken, type TokenResult } from './token-source.js';

/** A source whose answers the test gives. */
function controlled() {
  const pending: { resolve: (token: FetchedToken) => void; reject: (error: Error) => void }[] = [];
  const faults: string[] = [];
  const source = new TokenSource({
    fetch: () => new Promise((resolve, reject) => pending.push({ resolve, reject })),
    onFault: ({ message }) => faults.push(message),
  });
  return { source, pending, faults };
}

const settle = () => jest.advanceTimersByTimeAsync(0);
const results = (source: TokenSource) => {
  const seen: TokenResult[] = [];
  const cancel = source.wait((result) => seen.push(result));
  return { seen, cancel };
};

describe('a token source', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('fetches one token for all waiting requests, and gives it to those that are not cancelled', async () => {
    const { source, pending } = controlled();
    const [first, second, third] = [results(source), results(source), results(source)];
    second.cancel();
    pending[0]?.resolve({ token: 'a', lifetimeMs: 3_600_000 });
    await settle();
    expect([pending.length, first.seen, second.seen, third.seen]).toEqual([1, [{ token: 'a' }], [], [{ token: 'a' }]]);
    expect(source.current()).toEqual({ token: 'a' });
    source.close();
  });

  it('refreshes the token after four fifths of its lifetime, and uses the former one meanwhile', async () => {
    const { source, pending } = controlled();
    source.refresh();
    pending[0]?.resolve({ token: 'a', lifetimeMs: 1_000_000 });
    await settle();
    await jest.advanceTimersByTimeAsync(799_999);
    expect(pending).toHaveLength(1);
    await jest.advanceTimersByTimeAsync(1);
    expect([pending.length, source.current()]).toEqual([2, { token: 'a' }]);
    pending[1]?.resolve({ token: 'b', lifetimeMs: 1_000_000 });
    await settle();
    expect(source.current()).toEqual({ token: 'b' });
    source.close();
  });

  it('keeps a valid token while refreshes fail, and tries again every 30 s until it expires', async () => {
    const { source, pending, faults } = controlled();
    source.refresh();
    pending[0]?.resolve({ token: 'a', lifetimeMs: 1_000_000 });
    await settle();
    await jest.advanceTimersByTimeAsync(800_000);
    for (let attempt = 1; attempt < 7; attempt += 1) {
      pending[attempt]?.reject(new Error('down'));
      await settle();
      expect(source.current()).toEqual({ token: 'a' });
      await jest.advanceTimersByTimeAsync(attempt < 6 ? 30_000 : 25_000);
    }
    expect(faults).toEqual(Array.from({ length: 6 }, () => 'gave no token: down'));
    // The source does not return the token in the last 30 s of its lifetime of 1,000 s.
    expect(source.current()).toBeNull();
    source.close();
  });

  it('gives requests the last fault for five seconds, and then forgets it', async () => {
    const { source, pending } = controlled();
    const { seen } = results(source);
    pending[0]?.reject(new TokenFault('answered 401', { isRejection: true }));
    await settle();
    expect(seen).toEqual([{ fault: expect.objectContaining({ message: 'answered 401', isRejection: true }) }]);
    expect(source.current()).toHaveProperty('fault');
    await jest.advanceTimersByTimeAsync(5_000);
    expect(source.current()).toBeNull();
    source.close();
  });

  it('limits the lifetime to a day, and the refreshes to one a second', async () => {
    const { source, pending } = controlled();
    source.refresh();
    pending[0]?.resolve({ token: 'a', lifetimeMs: 1e15 });
    await settle();
    await jest.advanceTimersByTimeAsync(0.8 * 86_400_000);
    expect(pending).toHaveLength(2);
    pending[1]?.resolve({ token: 'b', lifetimeMs: 0.001 });
    await settle();
    await jest.advanceTimersByTimeAsync(999);
    expect(pending).toHaveLength(2);
    source.close();
  });

  it('reports no fault and fetches nothing after it was closed, and gives the waiting request one result', async () => {
    const { source, pending, faults } = controlled();
    const { seen } = results(source);
    source.close();
    pending[0]?.reject(new Error('aborted'));
    await settle();
    await jest.advanceTimersByTimeAsync(1_000_000);
    expect([faults, seen.length, pending.length]).toEqual([[], 1, 1]);
  });
});
