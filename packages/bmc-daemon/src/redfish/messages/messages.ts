/** Redfish messages and their JSON. */
import type { JsonObject } from '../json.js';
import { baseRegistry, messageTable, type Arguments, type Severity } from './base-registry.js';

/** A key of the Base registry, such as `PropertyUnknown`. */
export type MessageKey = keyof typeof messageTable;
/** The arguments of a message, in the registry's order. */
export type MessageArguments<Key extends MessageKey> = Arguments<(typeof messageTable)[Key]['args']>;

/**
 * A message with its arguments. It is immutable: {@link withPointers} and {@link withDetail} return
 * copies.
 * @see DSP0266, message object
 */
export interface Message {
  readonly key: MessageKey;
  readonly args: readonly (string | number)[];
  /** JSON pointers into the request's body, such as `#/Boot/BootSourceOverrideTarget`. */
  readonly related: readonly string[];
  /** A sentence that follows the message's own text, without secrets. */
  readonly detail?: string;
}

/** Creates a message, such as `message('PropertyUnknown', 'Foo')`. Cuts long arguments. */
export function message<Key extends MessageKey>(key: Key, ...args: MessageArguments<Key>): Message {
  return { key, args: args.map((arg) => (typeof arg === 'string' ? cut(arg) : arg)), related: [] };
}

/**
 * Maximum length in characters of an argument, a pointer or a detail; the rest is cut off. A client
 * may send a name or URL of a megabyte, which the answer would repeat up to four times.
 */
const maxPartLength = 500;

function cut(text: string): string {
  return text.length > maxPartLength ? `${text.slice(0, maxPartLength)}…` : text;
}

/**
 * Returns a copy of the message that points to the given places of the body
 * (`#/Boot/BootSourceOverrideTarget`). They replace earlier pointers.
 */
export function withPointers(subject: Message, ...pointers: readonly string[]): Message {
  return { ...subject, related: pointers.map(cut) };
}

/**
 * Returns a copy with the detail, which replaces an earlier detail. Clients read it, so it must contain no
 * secrets and no raw text of a library.
 */
export function withDetail(subject: Message, detail: string): Message {
  return { ...subject, detail: cut(detail) };
}

/** Returns the messages for a part that an answer lacks, because the service could not read it. */
export function unreadMessages(part: string, reasons: readonly Message[]): readonly Message[] {
  const lacks = `The answer lacks ${part}, which the service could not read.`;
  return reasons.map((each) => withDetail(each, each.detail === undefined ? lacks : `${lacks} ${each.detail}`));
}

/** Returns the annotation of an object with messages; no member without messages. */
export function annotationOf(messages: readonly Message[]): JsonObject {
  return messages.length === 0 ? {} : { '@Message.ExtendedInfo': messages.map(renderMessage) };
}

/** Returns the usual HTTP status of a message. */
export function messageStatus(subject: Message): number {
  return messageTable[subject.key].status;
}

/** Returns the severity of a message. */
export function messageSeverity(subject: Message): Severity {
  return messageTable[subject.key].severity;
}

/** Returns the message id, such as `Base.1.22.PropertyUnknown`. */
export function messageId(subject: Message): string {
  return `${baseRegistry}.${subject.key}`;
}

/** Returns the text that people read. */
export function messageText(subject: Message): string {
  const text = messageTable[subject.key].text.replace(/%(\d)/g, (_, index) => String(subject.args[Number(index) - 1]));
  return subject.detail === undefined ? text : `${text} ${subject.detail}`;
}

/**
 * Returns one member of `@Message.ExtendedInfo`. It has no `Severity`, which is deprecated:
 * validators warn about it.
 */
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

/** Turns a reason into a sentence: `the file …` becomes `The file ….` */
export function sentence(reason: string): string {
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}.`;
}
