/** Renders the heads of responses, with the same bytes as Node's `ServerResponse.writeHead`. */
import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http';
import { ownText } from '../../text/own-text.js';

/** A rendered head. */
interface RenderedHead {
  /** The status line, the headers and the empty line, as latin1. */
  readonly text: string;
  readonly hasBody: boolean;
  /** Whether the body is sent in chunks, because the headers do not have its length. */
  readonly isChunked: boolean;
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean;
}

/** The connection after the response. */
interface Connection {
  /** Whether the client wants to send another request. */
  readonly keepsAlive: boolean;
  /** How long the server waits for it, in seconds. */
  readonly idleSeconds: number;
}

type Kind = 'other' | 'length' | 'connection' | 'date';

/**
 * The kinds of the names that were used before. Number and length are limited, because upstreams may send any name.
 * The map stores copies: a name that is a part of an upstream's head would keep the whole head in memory.
 */
const kinds = new Map<string, Kind>();
const MAX_KINDS = 1000;
const MAX_CACHED_LENGTH = 40;
/** Values that end the connection, as in Node. */
const CLOSE = /(?:^|\W)close(?:$|\W)/i;
/** Matches a character that the value of a header cannot have (RFC 9110 §5.5). */
const INVALID_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Renders a head.
 * @param headers name, value, name, value.
 * @throws {Error} as Node, if a name or a value is not valid; also for headers that the shortcut does not know.
 */
export function renderHead(status: number, headers: readonly unknown[], connection: Connection): RenderedHead {
  if (!Number.isInteger(status) || status < 200 || status > 999) throw new RangeError(`invalid status ${status}`);
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`;
  let values = '';
  let hasLength = false;
  let hasDate = false;
  let ownConnection: string | null = null;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index];
    const value = headers[index + 1];
    if (typeof name !== 'string' || typeof value !== 'string')
      throw new TypeError('the shortcut needs names and values of headers as texts');
    const kind = kinds.get(name) ?? findKind(name);
    values += value;
    text += `${name}: ${value}\r\n`;
    if (kind === 'other') continue;
    if (kind === 'length') hasLength = true;
    else if (kind === 'date') hasDate = true;
    else ownConnection = value;
  }
  // A single check for all values costs less than one for each.
  if (INVALID_VALUE.test(values)) rejectValues(headers);
  if (!hasDate) text += `Date: ${currentDate()}\r\n`;
  const keepsAlive = ownConnection === null ? connection.keepsAlive : !CLOSE.test(ownConnection);
  if (ownConnection === null)
    text += keepsAlive
      ? `Connection: keep-alive\r\nKeep-Alive: timeout=${connection.idleSeconds}\r\n`
      : 'Connection: close\r\n';
  const hasBody = status !== 204 && status !== 304;
  const isChunked = hasBody && !hasLength;
  return { text: `${text}${isChunked ? 'Transfer-Encoding: chunked\r\n' : ''}\r\n`, hasBody, isChunked, keepsAlive };
}

/** @throws {Error} the name is not valid, or the shortcut does not know what it changes. */
function findKind(name: string): Kind {
  validateHeaderName(name);
  const kind = kindOf(name.toLowerCase());
  if (name.length <= MAX_CACHED_LENGTH && kinds.size < MAX_KINDS) kinds.set(ownText(name), kind);
  return kind;
}

function kindOf(lowerName: string): Kind {
  switch (lowerName) {
    case 'content-length':
      return 'length';
    case 'connection':
    case 'date':
      return lowerName;
    case 'keep-alive':
    case 'trailer':
    case 'transfer-encoding':
    case 'upgrade':
      throw new Error(`the shortcut cannot send the header ${lowerName}`);
    default:
      return 'other';
  }
}

/** @throws {TypeError} Node's error for the first value that is not valid. */
function rejectValues(headers: readonly unknown[]): void {
  for (let index = 0; index + 1 < headers.length; index += 2)
    validateHeaderValue(String(headers[index]), String(headers[index + 1]));
}

let dateText: string | null = null;

/** Returns the value of the header `Date`. Renders it once for each second. */
function currentDate(): string {
  if (dateText !== null) return dateText;
  const now = new Date();
  dateText = now.toUTCString();
  setTimeout(() => (dateText = null), 1000 - now.getMilliseconds()).unref();
  return dateText;
}
