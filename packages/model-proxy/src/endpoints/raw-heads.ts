/** Heads of requests as they came, where Node's tidy view of them is not enough. */
import type { IncomingMessage } from 'node:http';

/** How many Host headers a request has. Node keeps the first of two; who else reads the request may keep the other. */
export function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/** The head of a request as it came, but for what asks for another protocol. */
export function headWithoutUpgrade({ method = '', url = '', rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!/^(?:upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1] ?? ''}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
