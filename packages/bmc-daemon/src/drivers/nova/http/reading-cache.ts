/** A bounded cache of values that are read from a service of a cloud. */
import { isDeepStrictEqual } from 'node:util';
import { CloudFailure } from './cloud-failure.js';

/** Limits of a cache. */
interface CacheLimits {
  /** Maximum number of values. The cache drops the oldest value first. */
  readonly max: number;
  /** The cache reads a value of this age again. */
  readonly maxAgeMs: number;
  /**
   * For this time after a failed read of a key, the cache throws the same error without a request. If the
   * service did not answer, the cache throws this error also for each other key without a value that is young
   * enough.
   */
  readonly failureMs: number;
}

/** A cache. Simultaneous readers of a key share one request. */
interface ReadingCache<Value> {
  /** Returns the value of a key; the same object while it does not change. @throws the errors of `read`. */
  read(key: string): Promise<Value>;
}

interface Reading<Value> {
  readonly value: Promise<Value>;
  readonly startedAt: number;
  failedAt?: number;
}

/** Creates a cache in front of `read`. */
export function createReadingCache<Value>(
  read: (key: string) => Promise<Value>,
  { max, maxAgeMs, failureMs }: CacheLimits,
): ReadingCache<Value> {
  const readings = new Map<string, Reading<Value>>();
  let outage: { readonly error: CloudFailure; readonly at: number } | undefined;

  const readAgain = async (key: string, last: Reading<Value> | undefined): Promise<Value> => {
    try {
      const value = await read(key);
      const before = await last?.value.catch(() => undefined);
      return before !== undefined && isDeepStrictEqual(before, value) ? before : value;
    } catch (error) {
      const at = performance.now();
      const reading = readings.get(key);
      if (reading !== undefined) reading.failedAt = at;
      if (error instanceof CloudFailure && isOutage(error)) outage = { error, at };
      throw error;
    }
  };
  return {
    read: (key) => {
      const last = readings.get(key);
      const now = performance.now();
      const isUsable =
        last?.failedAt === undefined
          ? now - (last?.startedAt ?? -Infinity) < maxAgeMs
          : now - last.failedAt < failureMs;
      if (last !== undefined && isUsable) return last.value;
      if (outage !== undefined && now - outage.at < failureMs) return Promise.reject(outage.error);
      const value = readAgain(key, last);
      // The map has the order of insertion, so its first entry is the oldest.
      readings.delete(key);
      readings.set(key, { value, startedAt: now });
      const [oldest] = readings.keys();
      if (readings.size > max && oldest !== undefined) readings.delete(oldest);
      return value;
    },
  };
}

const isOutage = ({ kind }: CloudFailure): boolean => kind === 'unreachable' || kind === 'timeout';
