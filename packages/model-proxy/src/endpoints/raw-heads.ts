/** Headers of requests as they came. Node's own view hides some of them. */

/** How many Host headers a request has. Node keeps the first of two; who else reads the request may keep the other. */
export function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}
