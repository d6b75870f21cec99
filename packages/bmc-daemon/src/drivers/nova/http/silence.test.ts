import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Silence } from './silence.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const never = new Promise<never>(() => undefined);
const after = (ms: number): Promise<string> => new Promise((resolve) => setTimeout(() => resolve('done'), ms));

/** Returns the result of an operation as a text, as soon as it has ended. */
function watch(operation: Promise<unknown>): { result?: string } {
  const seen: { result?: string } = {};
  void operation.then(
    (value) => (seen.result = String(value)),
    (error: unknown) => (seen.result = String(error)),
  );
  return seen;
}

describe('an operation in front of a slow service', () => {
  it('counts the wait for an older request only since its own beginning', async () => {
    const silence = new Silence();
    void silence.during(() => never);
    await jest.advanceTimersByTimeAsync(60_000);
    const seen = watch(silence.guard(() => silence.during(() => after(6500))));
    await jest.advanceTimersByTimeAsync(6400);
    expect(seen.result).toBeUndefined();
    await jest.advanceTimersByTimeAsync(200);
    expect(seen.result).toBe('done');
  });

  it('gives up after seven seconds without any answer, and then stops before its next request', async () => {
    const silence = new Silence();
    void silence.during(() => never);
    await jest.advanceTimersByTimeAsync(60_000);
    let signal: AbortSignal | undefined;
    const seen = watch(
      silence.guard((given) => {
        signal = given;
        return silence.during(() => never);
      }),
    );
    await jest.advanceTimersByTimeAsync(6900);
    expect([seen.result, signal?.aborted]).toEqual([undefined, false]);
    await jest.advanceTimersByTimeAsync(400);
    expect([seen.result, signal?.aborted]).toEqual([expect.stringContaining('not answered any request for 7 s'), true]);
  });

  it('waits for a listing of many pages, because each page is an answer', async () => {
    const silence = new Silence();
    const listing = async (): Promise<string> => {
      for (let page = 0; page < 5; page += 1) await silence.during(() => after(2500));
      return 'listed';
    };
    const seen = watch(silence.guard(listing));
    await jest.advanceTimersByTimeAsync(12_400);
    expect(seen.result).toBeUndefined();
    await jest.advanceTimersByTimeAsync(200);
    expect(seen.result).toBe('listed');
  });
});
