/** Requests that Node's parser gives up on never reach a handler; they get an error in OpenAI's shape all the same. */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { unreadableRequest } from '../errors.js';

interface RawFault {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

/** What Node's parser says, and what the client hears. Everything that is not here is 400. */
const faults: Readonly<Record<string, RawFault>> = {
  // A method that nobody has heard of: 501 (RFC 9110 §9.1), where Node by itself says 400.
  HPE_INVALID_METHOD: { status: 501, reason: 'Not Implemented', message: 'There is no such method.' },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    message: 'The URL and the headers are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, reason: 'Request Timeout', message: 'The request did not arrive in time.' },
};
const badRequest: RawFault = { status: 400, reason: 'Bad Request', message: 'The request is not HTTP.' };

/**
 * Answers and closes the connection, as nothing after the fault can be understood.
 * @returns the status; undefined where nobody is there any more to be told, or where the request is known: its own end is told then.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): number | undefined {
  const response = responseOn(socket);
  const isGone = error.code === 'ECONNRESET' || (response !== undefined && error.code === 'HPE_INVALID_EOF_STATE');
  // In the middle of another answer ours would be taken for a part of it.
  if (!socket.writable || isGone || response?.headersSent === true) {
    socket.destroy();
    return undefined;
  }
  const { status, reason, message } = faults[error.code ?? ''] ?? badRequest;
  socket.end(rawAnswer(status, reason, JSON.stringify(unreadableRequest(status, message).body)));
  return response === undefined ? status : undefined;
}

/** A whole answer in JSON for a socket that no `ServerResponse` has; the connection ends with it. */
export function rawAnswer(status: number, reason: string, body: string): string {
  const lines = [
    `HTTP/1.1 ${status} ${reason}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** The response that is in hand on a connection: to the request that is at fault, or to an earlier one. */
function responseOn(socket: Duplex): ServerResponse | undefined {
  // Node keeps it on the socket, and its own handler of this event looks at the same two names.
  const { _httpMessage: response } = socket as Duplex & { readonly _httpMessage?: ServerResponse | null };
  return response ?? undefined;
}
