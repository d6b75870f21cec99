/**
 * Answers requests that offer another protocol (`Upgrade`) as plain HTTP/1.1, which RFC 9110 §7.8
 * allows.
 *
 * Without this module, Node's parser would stop after such a request, drop the rest of the packet and
 * report no errors in it. This module therefore hands the connection to a new parser, with a header
 * that has no `Upgrade`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Serves the request, and all later requests of the connection, as plain HTTP.
 * @param head the bytes after the header, as in Node's `upgrade` event. Node removes all its HTTP
 *   listeners from the socket before that event.
 * @param serve passes the socket to the HTTP server as if it were a new connection.
 */
export function declineUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  serve: (socket: Duplex) => void,
): void {
  const fail = (): void => void socket.destroy();
  socket.on('error', fail);
  afterEarlierResponses(socket, () => {
    socket.removeListener('error', fail);
    if (!socket.writable) return;
    // Removes the idle timeout, which an earlier response may have set.
    if (socket instanceof Socket) socket.setTimeout(0);
    socket.unshift(Buffer.concat([headerWithoutUpgrade(request), head]));
    serve(socket);
    // Pipelined requests may have paused the socket.
    socket.resume();
  });
}

/**
 * Waits for the responses to earlier requests. A new parser does not know them: its response could
 * come before or between them.
 */
function afterEarlierResponses(socket: Duplex, then: () => void): void {
  // Node stores the response in progress on the socket.
  const { _httpMessage: response } = socket as Duplex & { readonly _httpMessage?: ServerResponse | null };
  if (response === null || response === undefined) then();
  else response.once('close', () => afterEarlierResponses(socket, then));
}

function headerWithoutUpgrade({ method = '', url = '', httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    if (/^connection$/i.test(name)) lines.push(...connectionLine(name, value));
    else if (!UPGRADE_HEADER.test(name)) lines.push(`${name}: ${value}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

const UPGRADE_HEADER = /^(?:upgrade|http2-settings)$/i;

function connectionLine(name: string, value: string): readonly string[] {
  const options = value
    .split(',')
    .map((option) => option.trim())
    .filter((option) => option !== '' && !UPGRADE_HEADER.test(option));
  return options.length === 0 ? [] : [`${name}: ${options.join(', ')}`];
}
