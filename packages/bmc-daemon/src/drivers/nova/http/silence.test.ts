import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Silence } from './silence.js';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

const never = new Promise<never>(() => undefined);
const doneAfter = (ms: number): Promise<string> => new Promise((resolve) => setTimeout(() => resolve('done'), ms));

/** Returns the result of an operation as a text, as soon as it has ended. */
function watchResult(operation: Promise<unknown>): { result?: string } {
  const seen: { result?: string } = {};
  void operation.then(
    (value) => (seen.result = String(value)),
    (error: unknown) => (seen.result = String(error)),
  );
  return seen;
}

describe('an operation that waits for a slow service', () => {
  it('counts the silence of the service only since its own beginning, not since older requests', async () => {
    const silence = new Silence();
    void silence.during(() => never);
    await jest.advanceTimersByTimeAsync(60_000);
    const seen = watchResult(silence.guard(() => silence.during(() => doneAfter(6500))));
    await jest.advanceTimersByTimeAsync(6400);
    expect(seen.result).toBeUndefined();
    await jest.advanceTimersByTimeAsync(200);
    expect(seen.result).toBe('done');
  });

  it('fails after seven seconds without any answer, and its signal aborts', async () => {
    const silence = new Silence();
    void silence.during(() => never);
    await jest.advanceTimersByTimeAsync(60_000);
    let signal: AbortSignal | undefined;
    const seen = watchResult(
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

  it('may take longer than seven seconds after it has got an answer, such as a page of a listing', async () => {
    const silence = new Silence();
    const listing = async (): Promise<string> => {
      for (let page = 0; page < 5; page += 1) await silence.during(() => doneAfter(2500));
      return 'listed';
    };
    const seen = watchResult(silence.guard(listing));
    await jest.advanceTimersByTimeAsync(12_400);
    expect(seen.result).toBeUndefined();
    await jest.advanceTimersByTimeAsync(200);
    expect(seen.result).toBe('listed');
  });
});
