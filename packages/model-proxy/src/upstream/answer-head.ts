/** The head of an answer (RFC 9112 §4, §5), read strictly: what two readers could read in two ways is no HTTP. */
import { AnswerFault } from './answer-fault.js';

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
  let keepsAlive = minor === 1;
  let keepAliveMs: number | null = null;
  while (end < text.length) {
    const start = end + 2;
    end = lineEnd(text, start);
    const colon = text.indexOf(':', start);
    if (colon === -1 || colon > end) throw noHttp('a header without a colon');
    const name = lowerCaseName(text.slice(start, colon));
    const value = trimmed(text, colon + 1, end);
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
        if (/(?:^|,)\s*close\s*(?:,|$)/i.test(value)) keepsAlive = false;
        else if (minor === 0 && /(?:^|,)\s*keep-alive\s*(?:,|$)/i.test(value)) keepsAlive = true;
        break;
      case 'keep-alive':
        keepAliveMs = timeoutOf(value);
        break;
    }
  }
  const framing = framingOf(status, length, coding);
  return { status, headers, framing, keepsAlive: keepsAlive && framing !== 'connection', keepAliveMs };
}

/** RFC 9112 §6.3. */
function framingOf(status: number, length: string | null, coding: string | null): Framing {
  if (coding !== null) {
    if (length !== null) throw noHttp('a Content-Length beside a Transfer-Encoding');
    if (coding.toLowerCase() !== 'chunked') throw noHttp('a Transfer-Encoding other than chunked');
  }
  if (status < 200 || status === 204 || status === 304) return 0;
  if (coding !== null) return 'chunked';
  return length === null ? 'connection' : Number(length);
}

/** What no line of a head holds; CR and LF only together, as its end. RFC 9110 §5.5 */
// eslint-disable-next-line no-control-regex -- these are what it looks for
const notInHeads = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]|\r(?!\n)|(?<!\r)\n/;

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\r\n', from);
  return end === -1 ? text.length : end;
}

/** Servers send the same names again and again: each is checked and made lower case once. Strangers can not fill it. */
const names = new Map<string, string>();
const MAX_NAMES = 1000;

function lowerCaseName(sent: string): string {
  const known = names.get(sent);
  if (known !== undefined) return known;
  // Space before the colon, and lines that go on with the one before, are no tokens either.
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(sent)) throw noHttp('a header without a proper name');
  const name = sent.toLowerCase();
  if (names.size < MAX_NAMES) names.set(sent, name);
  return name;
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
