import { describe, expect, it, jest } from '@jest/globals';
import { withDeadline } from './deadline.js';

describe('withDeadline', () => {
  const never = new Promise<never>(() => undefined);

  it('returns the result, or throws the error, of work that ends in time, and leaves no timer', async () => {
    jest.useFakeTimers();
    try {
      expect(await withDeadline(Promise.resolve('late'), 1000, () => null)).toBe('late');
      await expect(withDeadline(Promise.reject(new Error('broken')), 1000, () => null)).rejects.toThrow('broken');
      expect(jest.getTimerCount()).toBe(0);
    } finally {
      jest.useRealTimers();
    }
  });

  it('returns or throws the result of the deadline, and ignores a later error of the work', async () => {
    expect(await withDeadline(never, 0, () => null)).toBeNull();
    const fail = (): never => {
      throw new Error('no answer');
    };
    await expect(withDeadline(never, 0, fail)).rejects.toThrow('no answer');
    let reject: (error: Error) => void = () => undefined;
    const work = new Promise<never>((_resolve, fails) => (reject = fails));
    expect(await withDeadline(work, 0, () => null)).toBeNull();
    // An unhandled rejection would end the process of the tests.
    reject(new Error('too late'));
  });
});
