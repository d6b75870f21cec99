/** Serves the files of the web console. They contain no data of machines, so they need no login. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { openConsole } from '@rackless/console/files.js';

/**
 * Reads the files of the console.
 * @returns a function that answers a GET or HEAD request; false: there is no such file, and nothing was sent.
 * @throws {Error} if the package is not built.
 */
export function createConsole(): (
  request: IncomingMessage & { readonly path: string },
  response: ServerResponse,
) => boolean {
  const files = openConsole('bmc');
  return ({ path, headers }, response) => {
    const answer = files({
      path,
      acceptEncoding: headers['accept-encoding'],
      ifNoneMatch: headers['if-none-match'],
    });
    if (answer === null) return false;
    // A 304 has no length: the length would be that of the file (RFC 9110 §8.6).
    const length = answer.status === 304 ? {} : { 'Content-Length': answer.body.length };
    response.writeHead(answer.status, { ...answer.headers, ...length });
    response.end(answer.body);
    return true;
  };
}
