/** Renders log lines: JSON for machines, text for people. */
import { numberText } from '../text/number-text.js';
import type { LogFields } from './redact.js';

/** Log entry of one finished request. */
export interface RequestLine {
  readonly id: string;
  /** null: no authentication, failed authentication, or a client without a name (model-proxy's master key). */
  readonly user: string | null;
  readonly method: string;
  /** Path without the query, which may contain secrets. */
  readonly path: string;
  readonly status: number;
  /**
   * Time from the request header to the last byte of the response, in milliseconds. For a Redfish
   * request: to the beginning of the response.
   */
  readonly ms: number;
  /**
   * Why the service rejected the request: because of the credentials (then with the user name), the client's address
   * or the path, or because it could not read the request.
   */
  readonly refused?: string | undefined;
  /**
   * Further fields of the service, for example `{ model: 'gpt', ttfbMs: 12 }`. The log does not
   * mask secrets here.
   */
  readonly more?: Readonly<Record<string, string | number | boolean | null>>;
}

/** Data of a log line. Secrets in its fields are already masked. */
export interface LogRecord {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly message: string;
  /** Time of the event in milliseconds since 1970. The log may write the line later. */
  readonly timeMs: number;
  readonly request?: RequestLine;
  readonly fields?: LogFields;
}

/** Renders one line without a line end: `{"time": …, "level": …, "message": …}`. */
export function renderJson({ level, message, timeMs, request, fields }: LogRecord): string {
  const time = timeOf(timeMs);
  if (request === undefined) return printableJson(JSON.stringify({ time, level, message, ...fields }));
  return requestJson(request, `{"time":"${time}","level":"${level}","message":"${message}"`);
}

let lastSecond = NaN;
let lastSecondText = '';

/**
 * Returns the time in ISO 8601, UTC: `2026-11-27T16:03:35.123Z`. Caches the text of the second, because `Date`
 * needs more time than the rest of a request's line.
 * @param timeMs a whole number.
 */
function timeOf(timeMs: number): string {
  const second = Math.floor(timeMs / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastSecondText = new Date(second * 1000).toISOString().slice(0, -'000Z'.length);
  }
  return `${lastSecondText}${String(timeMs - second * 1000).padStart(3, '0')}Z`;
}

/**
 * Renders a request like `JSON.stringify`, in a third of the time. The log has a line for each
 * request.
 * @param head the start of the line.
 */
function requestJson({ id, user, method, path, status, ms, refused, more }: RequestLine, head: string): string {
  let line = `${head},"id":${quoted(id)},"user":${user === null ? 'null' : quoted(user)},"method":${quoted(method)}`;
  line += `,"path":${quoted(path)},"status":${status},"ms":${numberText(ms)}`;
  if (refused !== undefined) line += `,"refused":${quoted(refused)}`;
  for (const name in more) {
    const value = more[name];
    if (value === undefined) continue;
    line += `,"${name}":${jsonOf(value)}`;
  }
  return `${line}}`;
}

function jsonOf(value: string | number | boolean | null): string {
  if (typeof value === 'string') return quoted(value);
  return typeof value === 'number' ? numberText(value) : String(value);
}

/** Renders a JSON string. Most texts contain no character that JSON escapes. */
function quoted(text: string): string {
  return /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : printableJson(JSON.stringify(text));
}

/**
 * Escapes the characters of {@link printable} in JSON, because a terminal may show JSON lines too.
 */
function printableJson(json: string): string {
  return json.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Renders one line for a terminal, without a line end. */
export function renderText({ level, message, timeMs, request, fields }: LogRecord): string {
  const time = new Date(timeMs).toISOString().slice(11, 19);
  if (request !== undefined) {
    const { user, method, path, status, ms, id, refused, more } = request;
    const why = refused === undefined ? '' : ` (${refused})`;
    return printable(
      `${time} ${user ?? '-'} ${method} ${path} ${status} ${ms.toFixed(1)} ms ${id}${renderFields(more)}${why}`,
    );
  }
  return printable(`${time} ${level === 'info' ? '' : `${level}: `}${message}${renderFields(fields)}`);
}

function renderFields(fields: LogFields = {}): string {
  return Object.entries(fields)
    .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('');
}

/**
 * Escapes control characters, line separators and bidirectional controls. Clients choose paths and
 * user names. These texts must not forge a second line, control the terminal, or reorder the line.
 */
function printable(line: string): string {
  return line.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });
}
