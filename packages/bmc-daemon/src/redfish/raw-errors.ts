/** Requests that Node's parser gives up on never reach a handler; they get a Redfish error all the same. */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorAnswer } from './answer.js';
import { RedfishError } from './errors.js';
import { message, withDetail } from './messages.js';

/** What Node's parser says, and what the client hears. Everything that is not here is 400. */
const statusOf: Readonly<
  Record<string, { readonly status: number; readonly reason: string; readonly about: RedfishError }>
> = {
  // A method that nobody has heard of: 501 (RFC 9110 §9.1), where Node by itself says 400.
  HPE_INVALID_METHOD: raw(501, 'Not Implemented', 'OperationNotAllowed', 'No resource knows the method.'),
  HPE_HEADER_OVERFLOW: raw(
    431,
    'Request Header Fields Too Large',
    'PayloadTooLarge',
    'It is not the body, but the URI and the headers before it.',
  ),
  ERR_HTTP_REQUEST_TIMEOUT: raw(408, 'Request Timeout', 'OperationTimeout', 'It is the request that did not arrive.'),
};
const badRequest = raw(400, 'Bad Request', 'UnrecognizedRequestBody', 'The request is not HTTP as RFC 9112 has it.');

/** The registry has no messages for what is below HTTP: the nearest one, with a sentence that says what is meant. */
function raw(
  status: number,
  reason: string,
  key: 'OperationNotAllowed' | 'PayloadTooLarge' | 'OperationTimeout' | 'UnrecognizedRequestBody',
  detail: string,
) {
  return { status, reason, about: new RedfishError(status, [withDetail(message(key), detail)]) };
}

/**
 * Answers and closes the connection, as nothing after the fault can be understood.
 * @returns the status; undefined where nobody is there any more to be told.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Duplex): number | undefined {
  if (!socket.writable || answering(socket) || error.code === 'ECONNRESET') {
    socket.destroy();
    return undefined;
  }
  const { status, reason, about } = statusOf[error.code ?? ''] ?? badRequest;
  const { headers, body = '' } = errorAnswer(about);
  const lines = headers.map((value, index) => (index % 2 === 0 ? `${value}: ` : `${value}\r\n`)).join('');
  socket.end(`HTTP/1.1 ${status} ${reason}\r\nConnection: close\r\n${lines}\r\n${body}`);
  return status;
}

/** Whether an answer to an earlier request is going out on the connection; ours would end up in the middle of it. */
function answering(socket: Duplex): boolean {
  // Node keeps the response in hand on the socket, and its own handler of this event looks at the same two names.
  const { _httpMessage: response } = socket as Duplex & { readonly _httpMessage?: ServerResponse | null };
  return response?.headersSent === true;
}
