/** A bounded wait for a service of a cloud. */
import { setTimeout as delay } from 'node:timers/promises';

/**
 * Waits for a result, but at most this time. The request then continues, and later readers can use
 * its result. @returns undefined if the time is over.
 */
export async function within<T>(ms: number, result: Promise<T>): Promise<T | undefined> {
  const patience = new AbortController();
  const late = delay(ms, undefined, { signal: patience.signal }).catch(() => undefined);
  try {
    return await Promise.race([result, late]);
  } finally {
    patience.abort();
  }
}
