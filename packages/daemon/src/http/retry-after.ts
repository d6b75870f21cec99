/** Reads the header `Retry-After` (RFC 9110 §10.2.3). */
import type { IncomingHttpHeaders } from 'node:http';

/** Returns the delay in milliseconds that the service asks for; undefined without the header. */
export function retryAfterMs(headers: IncomingHttpHeaders, now: number): number | undefined {
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : Math.max(0, time - now);
}
