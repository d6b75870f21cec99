/** Texts for people from Redfish's error bodies (DSP0266, "Error responses"). */
import { STATUS_CODES } from 'node:http';
import { parseJson } from '@rackless/daemon/text/json.js';
import { asResource, listAt, objectAt, textAt, textsAt, type Resource } from './resource.js';

/** A message of a service. */
interface ServiceMessage {
  /** The message id, such as `Base.1.22.PropertyValueNotInList`. */
  readonly id?: string;
  /** The property, such as `Boot.BootSourceOverrideTarget`. */
  readonly property?: string;
  readonly text: string;
}

/** Maximum number of characters of a text. Longer texts are cut. */
const MAX_TEXT = 500;

/** Returns a JSON pointer as people write it, such as `Boot.BootOrder` for `#/Boot/BootOrder`. */
const propertyOf = (pointer: string): string =>
  pointer
    .replace(/^#?\/?/, '')
    .replaceAll('/', '.')
    .replaceAll('~1', '/')
    .replaceAll('~0', '~');

function messageOf(entry: unknown, property?: string): ServiceMessage | undefined {
  const id = textAt(entry, 'MessageId');
  const args = (textsAt(entry, 'MessageArgs') ?? []).join(', ');
  const text = textAt(entry, 'Message') ?? (id === undefined ? undefined : `${id}${args === '' ? '' : ` (${args})`}`);
  if (text === undefined) return undefined;
  const related = property ?? textsAt(entry, 'RelatedProperties')?.map(propertyOf).join(', ');
  return {
    text,
    ...(id === undefined ? {} : { id }),
    ...(related === undefined || related === '' ? {} : { property: related }),
  };
}

/** Returns the messages of an error body, or of a success in which the service ignored some properties. */
export function messagesOf(body: Resource): readonly ServiceMessage[] {
  const annotation = '@Message.ExtendedInfo';
  const members = [body, objectAt(body, 'error')].flatMap((part) => [
    ...listAt(part, annotation).map((entry) => messageOf(entry)),
    ...Object.keys(part)
      .filter((name) => name.endsWith(annotation) && name !== annotation)
      .flatMap((name) => listAt(part, name).map((entry) => messageOf(entry, name.slice(0, -annotation.length)))),
  ]);
  return members.filter((message) => message !== undefined);
}

/** Returns a message in one line: `property: text`, or `text` if it contains the property or there is none. */
export function messageText({ property, text }: ServiceMessage): string {
  const line = text.replace(/\s+/g, ' ').trim();
  // Most texts of DMTF contain the name of the property.
  const shown = property === undefined || line.includes(property) ? line : `${property}: ${line}`;
  return shown.length > MAX_TEXT ? `${shown.slice(0, MAX_TEXT)}…` : shown;
}

/**
 * Returns the reason of a failed answer: the service's messages. If there are none, returns the status
 * and a general text, such as the title of a page, if the answer contains one.
 */
export function reasonOf(status: number, text: string): string {
  const body = asResource(parseJson(text));
  const messages = [...new Set(messagesOf(body).map(messageText))];
  if (messages.length > 0) return messages.join('; ');
  const general = textAt(body, 'error', 'message') ?? textAt(body, 'error', 'code') ?? pageTitle(text);
  const name = STATUS_CODES[status] ?? 'unknown status';
  return general === undefined || general === name
    ? `${status} ${name}`
    : `${status} ${name}: ${general.slice(0, MAX_TEXT)}`;
}

const pageTitle = (text: string): string | undefined => {
  const title = /<title>([^<]{1,200})<\/title>/i.exec(text.slice(0, 20_000))?.[1];
  return title?.replace(/\s+/g, ' ').trim();
};
