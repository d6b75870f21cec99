/**
 * Parses the head of an answer (RFC 9112 §4, §5). The parser is strict: it rejects a head that two
 * parsers could read in different ways.
 */
import { ownText } from '@rackless/daemon/text/own-text.js';
import { AnswerFault } from './answer-fault.js';

/**
 * Maximum size of an answer's head, together with the interim heads (1xx) before it. Node's limit
 * of 16 KB is too small for gateways that send cookies and policies.
 */
export const MAX_HEAD_BYTES = 65_536;

/** The head of an answer. */
export interface AnswerHead {
  readonly status: number;
  /** Name, value, name, value, in the order received; names in lower case. */
  readonly headers: string[];
  readonly framing: Framing;
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean;
  /**
   * Milliseconds for which the upstream keeps an idle connection (`Keep-Alive: timeout=5`); null:
   * not announced.
   */
  readonly keepAliveMs: number | null;
}

/** The end of the body: after a number of bytes, with its last chunk, or with the connection. */
type Framing = number | 'chunked' | 'connection';

/**
 * Parses a head.
 * @param text latin1, from the status line up to the empty line, without the empty line.
 * @throws {AnswerFault} if the head is invalid or ambiguous, or has too many headers.
 */
export function parseAnswerHead(text: string): AnswerHead {
  if (!LINES.test(text)) throw invalidHead('a control character in its head');
  let end = lineEnd(text, 0);
  const minor = text.charCodeAt(7) - 0x30;
  const status = Number(text.slice(9, 12));
  const beginning = text.slice(8, Math.min(end, 13));
  if (!text.startsWith('HTTP/1.') || (minor !== 0 && minor !== 1) || !/^ \d{3}(?: |$)/.test(beginning))
    throw invalidHead('no status line');
  // RFC 9110 §15: other numbers have no meaning, and Node's server throws for 099.
  if (status < 100 || status > 599) throw invalidHead(`status ${beginning.trim()}`);

  const headers: string[] = [];
  let length: string | null = null;
  let coding: string | null = null;
  let closes = false;
  let keepsAlive = minor === 1;
  let keepAliveMs: number | null = null;
  while (end < text.length) {
    const start = end + 2;
    end = lineEnd(text, start);
    const colon = colonOf(text, start, end);
    const name = lowerCaseName(text.slice(start, colon));
    const value = trimmed(text, colon + 1, end);
    if (headers.length >= 2 * MAX_HEADERS) throw new AnswerFault('head', `more than ${MAX_HEADERS} headers`);
    headers.push(name, value);
    switch (name) {
      case 'content-length':
        // Two equal lengths are also a fault: another proxy may have joined two answers.
        if (length !== null) throw invalidHead('more than one Content-Length');
        if (!/^\d{1,15}$/.test(value)) throw invalidHead('a Content-Length that is not a number');
        length = value;
        break;
      case 'transfer-encoding':
        coding = coding === null ? value : `${coding}, ${value}`;
        break;
      case 'connection':
        if (/(?:^|,)\s*close\s*(?:,|$)/i.test(value)) closes = true;
        else if (minor === 0 && /(?:^|,)\s*keep-alive\s*(?:,|$)/i.test(value)) keepsAlive = true;
        break;
      case 'keep-alive':
        keepAliveMs = timeoutOf(value);
        break;
    }
  }
  const framing = framingOf(status, length, coding);
  if (closes || framing === 'connection' || mayHaveUnexpectedBody({ status, minor, length, coding }))
    keepsAlive = false;
  return { status, headers, framing, keepsAlive, keepAliveMs };
}

/**
 * Returns whether the upstream may send a body that the proxy does not expect and would read as the
 * next answer. This is possible for a status without a body if the head has a length or a coding.
 * Such a body is also possible for a coding in HTTP/1.0, which has no codings (RFC 9112 §6.1).
 */
function mayHaveUnexpectedBody(head: {
  readonly status: number;
  readonly minor: number;
  readonly length: string | null;
  readonly coding: string | null;
}): boolean {
  if (head.coding !== null) return head.minor === 0 || isBodiless(head.status);
  return isBodiless(head.status) && head.length !== null && Number(head.length) > 0;
}

function isBodiless(status: number): boolean {
  return status < 200 || status === 204 || status === 304;
}

/**
 * Decides how the body ends (RFC 9112 §6.3).
 * @throws {AnswerFault} if the head has both a length and a coding, or a coding other than chunked.
 */
function framingOf(status: number, length: string | null, coding: string | null): Framing {
  if (coding !== null) {
    if (length !== null) throw invalidHead('a Content-Length and a Transfer-Encoding');
    if (coding.toLowerCase() !== 'chunked') throw invalidHead('a Transfer-Encoding other than chunked');
  }
  if (isBodiless(status)) return 0;
  if (coding !== null) return 'chunked';
  return length === null ? 'connection' : Number(length);
}

/**
 * Checks the lines of a trailer. The proxy ignores trailers, but another parser could read an
 * invalid line as the beginning of the next answer.
 * @param text latin1, each line with its CRLF.
 * @throws {AnswerFault} if a line is invalid.
 */
export function checkTrailer(text: string): void {
  if (!LINES.test(text)) throw invalidHead('a control character in its trailer');
  for (let start = 0; start < text.length; start = lineEnd(text, start) + 2)
    lowerCaseName(text.slice(start, colonOf(text, start, lineEnd(text, start))));
}

/**
 * Matches lines without invalid characters (RFC 9110 §5.5). CR and LF are valid only together, as a line end. A
 * character has only one way to match, so the time is linear. A search for invalid characters takes twice as long.
 */
const LINES = /^(?:[\t -~\x80-\xff]*\r\n)*[\t -~\x80-\xff]*$/;

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\r\n', from);
  return end === -1 ? text.length : end;
}

/** Returns the offset of the colon in a line. @throws {AnswerFault} if there is none. */
function colonOf(text: string, from: number, to: number): number {
  const colon = text.indexOf(':', from);
  if (colon === -1 || colon > to) throw invalidHead('a header without a colon');
  return colon;
}

/** Maximum number of headers, as in Node. A head of 64 KB has room for 16,000. */
const MAX_HEADERS = 1000;

/**
 * Caches valid names and their lower-case form. The size is limited because hostile upstreams may
 * send any name.
 */
const names = new Map<string, string>();
const MAX_NAMES = 1000;
/** Names with more characters are not cached. */
const MAX_CACHED_NAME_LENGTH = 64;

function lowerCaseName(sent: string): string {
  const cached = names.get(sent);
  if (cached !== undefined) return cached;
  // Also rejects white space before the colon, and lines that continue the previous line.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(sent)) throw invalidHead('a header with an invalid name');
  const name = sent.toLowerCase();
  if (names.size >= MAX_NAMES || sent.length > MAX_CACHED_NAME_LENGTH) return name;
  // Copies both names: V8 keeps a whole head in memory for a text that was cut out of it.
  const copy = ownText(name);
  names.set(ownText(sent), copy);
  return copy;
}

function trimmed(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start += 1;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

function timeoutOf(value: string): number | null {
  const seconds = /(?:^|[\s,;])timeout=(\d{1,6})/i.exec(value)?.[1];
  return seconds === undefined ? null : Number(seconds) * 1000;
}

const invalidHead = (what: string) => new AnswerFault('http', what);
