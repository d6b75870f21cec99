/** Reads the header `Retry-After` (RFC 9110 §10.2.3). */
import type { IncomingHttpHeaders } from 'node:http';

/**
 * Returns the delay that the header gives, in milliseconds, 0 or more; undefined without a valid
 * header.
 * @param now the current time in milliseconds since 1970.
 */
export function retryAfterMs(headers: IncomingHttpHeaders, now: number): number | undefined {
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return Number(value) * 1000;
  // A date begins with the name of the day. `Date.parse` would also read other texts as dates, such as -5.
  const time = /^[A-Z]/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : Math.max(0, time - now);
}
