/**
 * Requests that offer another protocol (`Upgrade`) and get HTTP/1.1, as RFC 9110 §7.8 allows. Node's parser stops after the header of
 * such a request: what follows in the same packet is lost, and faults in its body or behind it are never reported. So the
 * connection is parsed anew, from a header without the offer.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/**
 * Serves the request and everything behind it as plain HTTP.
 * @param head as in Node's `upgrade` event, which also gives the socket without any listener of HTTP.
 * @param serve gives the socket to HTTP once more, as a new connection.
 */
export function declineUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  serve: (socket: Duplex) => void,
): void {
  const fail = (): void => void socket.destroy();
  socket.on('error', fail);
  afterAnswers(socket, () => {
    socket.removeListener('error', fail);
    if (!socket.writable) return;
    // The time for an idle connection, which an earlier answer has set.
    if (socket instanceof Socket) socket.setTimeout(0);
    socket.unshift(Buffer.concat([headWithoutOffer(request), head]));
    serve(socket);
    // It may be paused since requests waited on it.
    socket.resume();
  });
}

/** Answers to earlier requests of the connection go first. A second parser does not know them and would answer in between. */
function afterAnswers(socket: Duplex, then: () => void): void {
  // Node stores the response in progress on the socket.
  const { _httpMessage: response } = socket as Duplex & { readonly _httpMessage?: ServerResponse | null };
  if (response === null || response === undefined) then();
  else response.once('close', () => afterAnswers(socket, then));
}

function headWithoutOffer({ method = '', url = '', httpVersion, rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    const value = rawHeaders[index + 1] ?? '';
    if (/^connection$/i.test(name)) lines.push(...connectionLine(name, value));
    else if (!OFFER.test(name)) lines.push(`${name}: ${value}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}

const OFFER = /^(?:upgrade|http2-settings)$/i;

function connectionLine(name: string, value: string): readonly string[] {
  const options = value
    .split(',')
    .map((option) => option.trim())
    .filter((option) => option !== '' && !OFFER.test(option));
  return options.length === 0 ? [] : [`${name}: ${options.join(', ')}`];
}
