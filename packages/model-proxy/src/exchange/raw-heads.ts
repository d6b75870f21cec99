/** Reads the headers of requests as received. Node's `headers` omits repeated ones. */

/**
 * Returns the number of Host headers. Node uses the first of two; another server may use the
 * second.
 * @param rawHeaders name, value, name, value.
 */
export function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}
