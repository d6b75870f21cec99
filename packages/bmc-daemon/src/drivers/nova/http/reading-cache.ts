/** A bounded cache of readings from a service of a cloud. */
import { isDeepStrictEqual } from 'node:util';
import { CloudFailure } from './cloud-failure.js';

/** Limits of a cache. */
interface CacheLimits {
  /** Maximum number of readings. The oldest one is dropped first. */
  readonly max: number;
  /** A reading of this age is read again. */
  readonly maxAgeMs: number;
  /** A failure is repeated for this time without a request; for all keys, if the service does not answer. */
  readonly failureMs: number;
}

/** A cache. Simultaneous readers of a key share one request. */
interface ReadingCache<Value> {
  /** Returns the value of a key; the same object while it does not change. */
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
      // The map has the order of insertion, which is the order of age.
      readings.delete(key);
      readings.set(key, { value, startedAt: now });
      const [oldest] = readings.keys();
      if (readings.size > max && oldest !== undefined) readings.delete(oldest);
      return value;
    },
  };
}

const isOutage = ({ kind }: CloudFailure): boolean => kind === 'unreachable' || kind === 'timeout';
