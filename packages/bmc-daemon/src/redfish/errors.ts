/** The one error that resources and stages throw to answer with a Redfish error body, and the body itself (DSP0266, error responses). */
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
import type { JsonObject } from './json.js';

type Headers = Readonly<Record<string, string>>;

/** Faults beyond this many are only counted: a megabyte of unknown names is answered with a page, not with ten megabytes. */
const mostFaults = 50;

/** The faults as an error may list them. Asks for one more than it lists at most. */
export function atMost(faults: Iterable<Message>): readonly Message[] {
  const listed: Message[] = [];
  for (const fault of faults) {
    if (listed.length === mostFaults) return [...listed, message('MaximumErrorsExceeded')];
    listed.push(fault);
  }
  return listed;
}

/**
 * An answer that is an error. Every fault of a request travels in one of these.
 * @param status 4xx or 5xx.
 * @param faults at least one, of which 50 are listed; a single one gives the body's `code` and `message`, several are under GeneralError.
 * @param headers sent beside the usual ones: `Allow`, `Retry-After`, `WWW-Authenticate`.
 * @param cause goes to the log, never to the client.
 */
export class RedfishError extends Error {
  override readonly name = 'RedfishError';
  readonly status: number;
  readonly messages: readonly Message[];
  readonly headers: Headers;

  constructor(status: number, faults: readonly Message[], headers: Headers = {}, cause?: unknown) {
    const messages = atMost(faults);
    super(messages.map(messageText).join(' '), cause === undefined ? undefined : { cause });
    this.status = status;
    this.messages = messages;
    this.headers = headers;
  }
}

/** A refusal with one message, with the status that the message's table entry names: `refuse('ResourceNotFound', 'ComputerSystem', id)`. */
export function refuse<Key extends MessageKey>(key: Key, ...args: MessageArguments<Key>): RedfishError {
  const only = message(key, ...args);
  return new RedfishError(messageStatus(only), [only]);
}

/** The body of an error: `{error: {code, message, @Message.ExtendedInfo}}`. */
export function renderError(messages: readonly Message[]): JsonObject {
  const [only, ...others] = messages;
  const single = only !== undefined && others.length === 0;
  return {
    error: {
      code: single ? messageId(only) : `${baseRegistry}.GeneralError`,
      message: single ? messageText(only) : messageTable.GeneralError.text,
      '@Message.ExtendedInfo': messages.map(renderMessage),
    },
  };
}
