/**
 * Answers requests that Node's HTTP server rejects, because they are invalid or arrive too late. The answers have the
 * shape of OpenAI's errors. A handler gets such a request only if its head was valid.
 */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { unreadableRequest } from '../errors/path.js';

interface RawFault {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
}

/** Codes of the errors of Node's server → the client's answer. All other codes get {@link badRequest}. */
const faults: Readonly<Record<string, RawFault>> = {
  // RFC 9110 §9.1 recommends 501 if the server does not know the method. Node's default is 400.
  HPE_INVALID_METHOD: { status: 501, reason: 'Not Implemented', message: 'There is no such method.' },
  HPE_HEADER_OVERFLOW: {
    status: 431,
    reason: 'Request Header Fields Too Large',
    message: 'The URL and the headers are too large.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, reason: 'Request Timeout', message: 'The request did not arrive in time.' },
};
const badRequest: RawFault = { status: 400, reason: 'Bad Request', message: 'The request is not valid HTTP.' };

/**
 * Answers if this is still possible, and closes the connection, because the proxy cannot read the bytes after the
 * fault.
 * @returns the status to log; undefined: the client has gone, or a handler has the request and logs
 *   its end.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): number | undefined {
  const response = responseOn(socket);
  const isGone = error.code === 'ECONNRESET' || (response !== undefined && error.code === 'HPE_INVALID_EOF_STATE');
  // The client would read the error as a part of the answer that has begun.
  if (!socket.writable || isGone || response?.headersSent === true) {
    socket.destroy();
    return undefined;
  }
  const { status, reason, message } = faults[error.code ?? ''] ?? badRequest;
  socket.end(renderAnswer(status, reason, JSON.stringify(unreadableRequest(status, message).body)));
  return response === undefined ? status : undefined;
}

/**
 * Makes a complete JSON answer for a socket that has no `ServerResponse`. The answer announces that
 * the connection closes.
 */
function renderAnswer(status: number, reason: string, body: string): string {
  const lines = [
    `HTTP/1.1 ${status} ${reason}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Returns the open response of a connection: the answer to the faulty or to an earlier request; undefined: none. */
function responseOn(socket: Duplex): ServerResponse | undefined {
  // Node does not document this property. Node's own handler of `clientError` reads it, too.
  const { _httpMessage: response } = socket as Duplex & { readonly _httpMessage?: ServerResponse | null };
  return response ?? undefined;
}
