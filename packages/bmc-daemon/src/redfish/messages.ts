/** A message that a client reads, and how it looks in JSON. */
import { baseRegistry, messageTable, type Arguments, type Severity } from './base-registry.js';
import type { JsonObject } from './json.js';

/** A key of the Base registry, `PropertyUnknown`. */
export type MessageKey = keyof typeof messageTable;
/** The arguments of one message, in the registry's order. */
export type MessageArguments<Key extends MessageKey> = Arguments<(typeof messageTable)[Key]['args']>;

/** One message, with its arguments. A value: attach pointers or a detail with {@link about} and {@link withDetail}. */
export interface Message {
  readonly key: MessageKey;
  readonly args: readonly (string | number)[];
  /** JSON pointers into the request's body: `#/Boot/BootSourceOverrideTarget`. */
  readonly related: readonly string[];
  /** A sentence after the message's own text, without secrets. */
  readonly detail?: string;
}

/** A message of the table: `message('PropertyUnknown', 'Foo')`. */
export function message<Key extends MessageKey>(key: Key, ...args: MessageArguments<Key>): Message {
  return { key, args: args.map((arg) => (typeof arg === 'string' ? cut(arg) : arg)), related: [] };
}

/** A client may send a name or a URL of a megabyte, and would be sent it back four times over: nobody reads that far. */
const longestPart = 500;

function cut(text: string): string {
  return text.length > longestPart ? `${text.slice(0, longestPart)}…` : text;
}

/** The same message, about these places of the request's body (`#/Boot/BootSourceOverrideTarget`). */
export function about(subject: Message, ...pointers: readonly string[]): Message {
  return { ...subject, related: pointers.map(cut) };
}

/** The same message with one more sentence, which the client sees: never put a secret or a library's raw text into it. */
export function withDetail(subject: Message, detail: string): Message {
  return { ...subject, detail: cut(detail) };
}

/** The HTTP status that this message usually travels with. */
export function messageStatus(subject: Message): number {
  return messageTable[subject.key].status;
}

/** How bad it is. */
export function messageSeverity(subject: Message): Severity {
  return messageTable[subject.key].severity;
}

/** `Base.1.22.PropertyUnknown`. */
export function messageId(subject: Message): string {
  return `${baseRegistry}.${subject.key}`;
}

/** The sentence that people read. */
export function messageText(subject: Message): string {
  const text = messageTable[subject.key].text.replace(/%(\d)/g, (_, index) => String(subject.args[Number(index) - 1]));
  return subject.detail === undefined ? text : `${text} ${subject.detail}`;
}

/** One member of `@Message.ExtendedInfo`. The deprecated `Severity` is left out: validators warn about it. */
export function renderMessage(subject: Message): JsonObject {
  const { severity, resolution } = messageTable[subject.key];
  return {
    '@odata.type': '#Message.v1_3_0.Message',
    MessageId: messageId(subject),
    Message: messageText(subject),
    MessageArgs: subject.args.map(String),
    MessageSeverity: severity,
    Resolution: resolution,
    ...(subject.related.length > 0 ? { RelatedProperties: subject.related } : {}),
  };
}

/** A reason as a sentence of a detail: `the file …` becomes `The file ….` */
export function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
}
