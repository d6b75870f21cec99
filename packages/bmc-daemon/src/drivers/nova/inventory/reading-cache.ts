/** A bounded cache of readings from a service of a cloud. */
import { isDeepStrictEqual } from 'node:util';

/** Limits of a cache. */
interface CacheLimits {
  /** Maximum number of readings. The oldest one is dropped first. */
  readonly max: number;
  /** A reading of this age is read again. */
  readonly maxAgeMs: number;
  /** After a failure, callers get the same failure for this time without a request. */
  readonly failureMs: number;
}

/** A cache. Simultaneous readers of a key share one request. */
export interface ReadingCache<Value> {
  /** Returns the value of a key; the same object while it does not change. */
  read(key: string): Promise<Value>;
}

interface Reading<Value> {
  readonly value: Promise<Value>;
  readonly startedAt: number;
}

/** Creates a cache in front of `read`. */
export function createReadingCache<Value>(
  read: (key: string) => Promise<Value>,
  { max, maxAgeMs, failureMs }: CacheLimits,
): ReadingCache<Value> {
  const readings = new Map<string, Reading<Value>>();
  let failure: { readonly error: Error; readonly at: number } | undefined;

  const readAgain = async (key: string, last: Reading<Value> | undefined): Promise<Value> => {
    try {
      const value = await read(key);
      const before = await last?.value.catch(() => undefined);
      return before !== undefined && isDeepStrictEqual(before, value) ? before : value;
    } catch (error) {
      failure = { error: error instanceof Error ? error : new Error(String(error)), at: performance.now() };
      readings.delete(key);
      throw error;
    }
  };
  return {
    read: (key) => {
      const last = readings.get(key);
      const now = performance.now();
      if (last !== undefined && now - last.startedAt < maxAgeMs) return last.value;
      if (failure !== undefined && now - failure.at < failureMs) return Promise.reject(failure.error);
      const value = readAgain(key, last);
      // The map has the order of insertion, which is the order of age.
      readings.delete(key);
      readings.set(key, { value, startedAt: now });
      const [oldest] = readings.keys();
      if (readings.size > max && oldest !== undefined) readings.delete(oldest);
      return value;
    },
  };
}
