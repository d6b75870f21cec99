/**
 * The error that resources and the steps of the pipeline throw to send a Redfish error, and its body
 * (DSP0266, error responses).
 */
import { baseRegistry, messageTable } from './base-registry.js';
import {
  message,
  messageId,
  messageStatus,
  messageText,
  renderMessage,
  type Message,
  type MessageArguments,
  type MessageKey,
} from './messages.js';
import type { JsonObject } from '../json.js';

type Headers = Readonly<Record<string, string>>;

/**
 * Maximum number of faults in an error. A megabyte of unknown names must not cause an answer of ten
 * megabytes.
 */
const maxFaults = 50;

/**
 * Returns the first 50 faults, followed by MaximumErrorsExceeded if there are more. Reads at most
 * 51 faults.
 */
export function limitFaults(faults: Iterable<Message>): readonly Message[] {
  const listed: Message[] = [];
  for (const fault of faults) {
    if (listed.length === maxFaults) return [...listed, message('MaximumErrorsExceeded')];
    listed.push(fault);
  }
  return listed;
}

/**
 * An error answer with the faults of a request.
 * @param status 4xx or 5xx.
 * @param faults at least one; the body lists at most 50. The body of a single fault has its `code` and
 *   `message`; the body of several faults has those of GeneralError.
 * @param headers additional headers: `Allow`, `Retry-After`, `WWW-Authenticate`.
 * @param cause for the log, never for the client.
 */
export class RedfishError extends Error {
  override readonly name = 'RedfishError';
  readonly status: number;
  readonly messages: readonly Message[];
  readonly headers: Headers;

  constructor(status: number, faults: readonly Message[], headers: Headers = {}, cause?: unknown) {
    const messages = limitFaults(faults);
    super(messages.map(messageText).join(' '), cause === undefined ? undefined : { cause });
    this.status = status;
    this.messages = messages;
    this.headers = headers;
  }
}

/**
 * Returns an error with one message and the status of the message's table entry:
 * `redfishError('ResourceNotFound', 'ComputerSystem', id)`.
 */
export function redfishError<Key extends MessageKey>(key: Key, ...args: MessageArguments<Key>): RedfishError {
  const fault = message(key, ...args);
  return new RedfishError(messageStatus(fault), [fault]);
}

/** nginx's status for a client that disconnected before the answer. */
const CLIENT_GONE = 499;

/**
 * Returns the error of a request whose client has disconnected, for the line of the request in the
 * log and for the metrics. The log gets no warning, because the service has not failed.
 */
export function clientGoneError(): RedfishError {
  return new RedfishError(CLIENT_GONE, [message('OperationFailed')]);
}

/** Returns the body of an error: `{error: {code, message, @Message.ExtendedInfo}}`. */
export function renderError(messages: readonly Message[]): JsonObject {
  const [first, ...others] = messages;
  const single = first !== undefined && others.length === 0;
  return {
    error: {
      code: single ? messageId(first) : `${baseRegistry}.GeneralError`,
      message: single ? messageText(first) : messageTable.GeneralError.text,
      '@Message.ExtendedInfo': messages.map(renderMessage),
    },
  };
}
