/** Checks the headers of requests. Both daemons run these checks for every request. */
import type { IncomingMessage } from 'node:http';

/**
 * Returns whether a request has exactly one Host header (RFC 9112 §3.2). HTTP/1.0 requests need
 * none. Of two Host headers, Node uses the first; another server may use the second.
 */
export function hasOneHost({ rawHeaders, httpVersion }: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): boolean {
  let hosts = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && (name === 'Host' || name.toLowerCase() === 'host')) hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion !== '1.1');
}

/**
 * Returns the id that the client gave to its request, if the id is safe in a header and in a log.
 * @param id value of the header, such as `x-request-id`.
 * @param maxLength in characters.
 * @returns undefined if the header is missing, repeated, empty or too long, or has other characters
 *   than letters, digits, `_`, `.`, `:` and `-`.
 */
export function acceptableId(id: string | readonly string[] | undefined, maxLength: number): string | undefined {
  return typeof id === 'string' && id.length <= maxLength && /^[\w.:-]+$/.test(id) ? id : undefined;
}
