/** Reads the number of retries that a client sets for its request. */
import type { IncomingHttpHeaders } from 'node:http';
import { invalidHeader } from '../errors/path.js';

/** Maximum number that a client may set, because each retry costs the upstreams a request. */
const MAX_REQUESTED = 10;

/**
 * Reads `x-litellm-num-retries`.
 * @returns null if the request has no such header, like most requests.
 * @throws {ProxyError} 400: the header is invalid.
 */
export function requestedRetriesOf(headers: IncomingHttpHeaders): number | null {
  const value = headers['x-litellm-num-retries'];
  if (value === undefined) return null;
  const retries = /^\d{1,3}$/.test(String(value)) ? Number(value) : Number.NaN;
  if (!(retries <= MAX_REQUESTED))
    throw invalidHeader('x-litellm-num-retries', `expected a whole number from 0 to ${MAX_REQUESTED}`);
  return retries;
}
