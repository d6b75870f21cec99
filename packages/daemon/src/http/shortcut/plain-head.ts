/**
 * Reads the heads of plain requests: a POST with a body of known length, whose head has only one possible
 * meaning. Declines everything else. It never accepts what Node's parser would reject, and never reads
 * a head in another way than Node's parser (RFC 9112 §11.2).
 */
import { ownText } from '../../text/own-text.js';
import { MAX_CACHED_LENGTH } from './rendered-headers.js';

/** The head of a plain request. */
export interface PlainHead {
  /** The path; it has no query. */
  readonly url: string;
  /** Name, value, name, value, as received. */
  readonly rawHeaders: string[];
  /** The names are in lower case. */
  readonly headers: Record<string, string>;
  /** Size of the head with the empty line, in bytes. */
  readonly byteLength: number;
  /** Size of the body, in bytes. */
  readonly bodyLength: number;
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean;
}

/** Half of Node's limit for a head. */
const MAX_HEAD_BYTES = 8192;

/**
 * The whole head. Names have no underscore, because servers differ in what they do with it. Values are
 * printable ASCII, are not empty, and have only one space before them. A character has only one way to
 * match, so the time is linear.
 */
const HEAD = /^POST (\/[\w./-]*) HTTP\/1\.1\r\n(?:[A-Za-z\d-]+: [!-~][ -~]*\r\n)+\r\n/;
/** A Content-Length of less than 1 MB: Node reads larger bodies as fast as the shortcut (shortcut.ts). */
const LENGTH = /^(?:0|[1-9]\d{0,5})$/;

/** Headers that change the framing or the protocol, or whose value Node turns into an array. */
const declined: ReadonlySet<string> = new Set([
  ...['expect', 'http2-settings', 'proxy-connection', 'set-cookie', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
]);

/**
 * The names that were received before, in lower case. Number and length are limited, because clients may send any
 * name. The map stores copies: a name that is a part of a head would keep the whole head in memory.
 */
const lowerNames = new Map<string, string>();
const MAX_NAMES = 500;

/**
 * Reads a head.
 * @param bytes the first bytes of a request.
 * @returns null: the head is incomplete, or Node must read it.
 */
export function readPlainHead(bytes: Buffer): PlainHead | null {
  const text = bytes.toString('latin1', 0, Math.min(bytes.length, MAX_HEAD_BYTES));
  const [head, url] = HEAD.exec(text) ?? [];
  if (head === undefined || url === undefined) return null;
  const rawHeaders: string[] = [];
  const headers: Record<string, string> = {};
  let lineEnd = head.indexOf('\r\n');
  while (lineEnd < head.length - 4) {
    const nameEnd = head.indexOf(':', lineEnd);
    const name = head.slice(lineEnd + 2, nameEnd);
    lineEnd = head.indexOf('\r\n', nameEnd);
    const value = head.slice(nameEnd + 2, lineEnd);
    const lowerName = lowerNames.get(name) ?? inLowerCase(name);
    // A repeated header is joined, ignored or an error, which depends on the reader and on the header. This test
    // also declines `constructor`, which every object has.
    if (declined.has(lowerName) || headers[lowerName] !== undefined || value.endsWith(' ')) return null;
    headers[lowerName] = value;
    rawHeaders.push(name, value);
  }
  const { host, 'content-length': length, connection = 'keep-alive' } = headers;
  if (host === undefined || length === undefined || !LENGTH.test(length)) return null;
  const option = connection.toLowerCase();
  if (option !== 'keep-alive' && option !== 'close') return null;
  const keepsAlive = option === 'keep-alive';
  return { url, rawHeaders, headers, byteLength: head.length, bodyLength: Number(length), keepsAlive };
}

function inLowerCase(name: string): string {
  if (name.length > MAX_CACHED_LENGTH || lowerNames.size >= MAX_NAMES) return name.toLowerCase();
  const copy = ownText(name);
  // If the name is already in lower case, V8 returns the same text. So the name in lower case must come from the copy,
  // too, not from `name`.
  const lowerName = copy.toLowerCase();
  lowerNames.set(copy, lowerName);
  return lowerName;
}
