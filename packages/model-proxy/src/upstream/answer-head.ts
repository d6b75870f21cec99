/** The head of an answer (RFC 9112 §4, §5), read strictly: what two readers could read in two ways is no HTTP. */
import { AnswerFault } from './answer-fault.js';

/**
 * Maximum size of an answer's head, together with the interim heads (1xx) before it. Node's limit
 * of 16 KB is too small for gateways that send cookies and policies.
 */
export const MAX_HEAD_BYTES = 65_536;

/** What stands in front of an answer's body. */
export interface AnswerHead {
  readonly status: number;
  /** Name, value, name, value, as they were sent; names lower case. */
  readonly headers: string[];
  readonly framing: Framing;
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean;
  /** For how long after the answer, in milliseconds (`Keep-Alive: timeout=5`); null: it does not say. */
  readonly keepAliveMs: number | null;
}

/** Where the body ends: behind so many bytes, or where its coding or the connection says. */
export type Framing = number | 'chunked' | 'connection';

/**
 * Reads a head.
 * @param text latin1, from the status line up to the empty line, without that.
 * @throws {AnswerFault}
 */
export function parseAnswerHead(text: string): AnswerHead {
  if (notInHeads.test(text)) throw noHttp('a control character in its head');
  let end = lineEnd(text, 0);
  const minor = text.charCodeAt(7) - 0x30;
  const status = Number(text.slice(9, 12));
  if (
    !text.startsWith('HTTP/1.') ||
    (minor !== 0 && minor !== 1) ||
    !/^ [1-5]\d\d(?: |$)/.test(text.slice(8, Math.min(end, 13)))
  )
    throw noHttp('no status line');

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
    if (headers.length >= 2 * MAX_HEADERS) throw new AnswerFault('head', 'too many headers');
    headers.push(name, value);
    switch (name) {
      case 'content-length':
        // The same twice, too: somebody before us joined what may have been two answers.
        if (length !== null || !/^\d{1,15}$/.test(value))
          throw new AnswerFault('length', 'two lengths, or one that is none');
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
  if (closes || framing === 'connection' || isDoubtful({ status, minor, length, coding })) keepsAlive = false;
  return { status, headers, framing, keepsAlive, keepAliveMs };
}

/**
 * Where what follows may be a body that nobody expects, and would be read as the next answer: a length beside a status that has no
 * body, a coding in HTTP/1.0 (RFC 9112 §6.1), which does not know any.
 */
function isDoubtful(head: {
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

/** RFC 9112 §6.3. */
function framingOf(status: number, length: string | null, coding: string | null): Framing {
  if (coding !== null) {
    if (length !== null) throw noHttp('a Content-Length beside a Transfer-Encoding');
    if (coding.toLowerCase() !== 'chunked') throw noHttp('a Transfer-Encoding other than chunked');
  }
  if (isBodiless(status)) return 0;
  if (coding !== null) return 'chunked';
  return length === null ? 'connection' : Number(length);
}

/**
 * Checks the lines of a trailer, which nobody here reads: what is no header there may be one to somebody else.
 * @param text latin1, each line with its end.
 * @throws {AnswerFault}
 */
export function checkTrailer(text: string): void {
  if (notInHeads.test(text)) throw noHttp('a control character in its trailer');
  for (let start = 0; start < text.length; start = lineEnd(text, start) + 2)
    lowerCaseName(text.slice(start, colonOf(text, start, lineEnd(text, start))));
}

/** What no line of a head holds; CR and LF only together, as its end. RFC 9110 §5.5 */
// oxlint-disable-next-line no-control-regex -- these are what it looks for
const notInHeads = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\r\n', from);
  return end === -1 ? text.length : end;
}

/** @throws {AnswerFault} */
function colonOf(text: string, from: number, to: number): number {
  const colon = text.indexOf(':', from);
  if (colon === -1 || colon > to) throw noHttp('a header without a colon');
  return colon;
}

/** As Node's. A head of 64 KB has room for sixteen thousand. */
const MAX_HEADERS = 1000;

/** Servers send the same names again and again: each is checked and made lower case once. Strangers can not fill it. */
const names = new Map<string, string>();
const MAX_NAMES = 1000;
/** A longer one is not remembered: V8 keeps the whole head for as long as any text that was cut out of it. */
const MAX_CACHED_NAME_LENGTH = 64;

function lowerCaseName(sent: string): string {
  const known = names.get(sent);
  if (known !== undefined) return known;
  // Space before the colon, and lines that go on with the one before, are no tokens either.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(sent)) throw noHttp('a header without a proper name');
  const name = sent.toLowerCase();
  if (names.size >= MAX_NAMES || sent.length > MAX_CACHED_NAME_LENGTH) return name;
  // Copied, not cut out.
  const kept = Buffer.from(name, 'latin1').toString('latin1');
  names.set(Buffer.from(sent, 'latin1').toString('latin1'), kept);
  return kept;
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

const noHttp = (what: string) => new AnswerFault('http', what);
