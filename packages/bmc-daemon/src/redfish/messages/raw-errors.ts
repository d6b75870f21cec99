/**
 * Answers requests that Node's HTTP parser rejects. Most of them never reach a handler, so this module
 * sends the Redfish error itself.
 */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorAnswer } from '../answer.js';
import { RedfishError } from './errors.js';
import { message, withDetail } from './messages.js';

/** Answers by the error code of Node's parser. Any other code is a 400. */
const answers: Readonly<
  Record<string, { readonly status: number; readonly reason: string; readonly error: RedfishError }>
> = {
  // RFC 9110 §9.1: 501 for an unknown method, for which Node itself answers 400.
  HPE_INVALID_METHOD: raw(501, 'Not Implemented', 'OperationNotAllowed', 'No resource supports the method.'),
  HPE_HEADER_OVERFLOW: raw(
    431,
    'Request Header Fields Too Large',
    'PayloadTooLarge',
    'The URI and the headers are too large, not the body.',
  ),
  ERR_HTTP_REQUEST_TIMEOUT: raw(408, 'Request Timeout', 'OperationTimeout', 'The request did not arrive completely.'),
};
const badRequest = raw(400, 'Bad Request', 'UnrecognizedRequestBody', 'The request is not valid HTTP (RFC 9112).');

/**
 * Returns an answer with the closest message and a detail, because the registry has no messages for
 * HTTP errors.
 */
function raw(
  status: number,
  reason: string,
  key: 'OperationNotAllowed' | 'PayloadTooLarge' | 'OperationTimeout' | 'UnrecognizedRequestBody',
  detail: string,
) {
  return { status, reason, error: new RedfishError(status, [withDetail(message(key), detail)]) };
}

/**
 * Answers and closes the connection, because the rest of its data cannot be parsed.
 * @returns the status; undefined if no answer can be sent: the client has disconnected, or another
 *   answer is in progress on the connection.
 */
export function answerClientError(parserError: NodeJS.ErrnoException, socket: Duplex): number | undefined {
  if (!socket.writable || hasStartedAnswer(socket) || parserError.code === 'ECONNRESET') {
    socket.destroy();
    return undefined;
  }
  const { status, reason, error } = answers[parserError.code ?? ''] ?? badRequest;
  const { headers, body = '' } = errorAnswer(error);
  const lines = headers.map((value, index) => (index % 2 === 0 ? `${value}: ` : `${value}\r\n`)).join('');
  socket.end(`HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\n${lines}\r\n${body}`);
  return status;
}

/**
 * Returns whether an earlier answer is in progress on the connection; another answer would corrupt
 * it.
 */
function hasStartedAnswer(socket: Duplex): boolean {
  // Node stores the current response on the socket. Its own `clientError` handler reads the same
  // two properties.
  const { _httpMessage: response } = socket as Duplex & { readonly _httpMessage?: ServerResponse | null };
  return response?.headersSent === true;
}
