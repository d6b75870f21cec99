/** A finished line of the log: JSON for machines, or a line for people. */
import type { LogFields } from './redact.js';

/** One finished request. */
export interface RequestLine {
  readonly id: string;
  /** null: nobody had to log in, or nobody could. */
  readonly user: string | null;
  readonly method: string;
  /** Without its query, which may carry secrets. */
  readonly path: string;
  readonly status: number;
  /** From the request's head to the answer's last byte, in milliseconds. */
  readonly ms: number;
  /** Why credentials were refused, and whose; or why the request could not even be read. */
  readonly refused?: string;
  /** What else a service says of its requests, `{ model: 'gpt', ttfbMs: 12 }`. Written as it is: nothing is masked. */
  readonly more?: Readonly<Record<string, string | number | boolean | null>>;
}

/** What a line is made of. Its fields are fit for a log already. */
export interface LogRecord {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly message: string;
  /** When it happened, in milliseconds since 1970; lines may be written later. */
  readonly at: number;
  readonly request?: RequestLine;
  readonly fields?: LogFields;
}

/** One line without its end: `{"time": …, "level": …, "message": …}`. */
export function renderJson({ level, message, at, request, fields }: LogRecord): string {
  const time = timeOf(at);
  if (request === undefined) return visible(JSON.stringify({ time, level, message, ...fields }));
  return requestJson(request, `{"time":"${time}","level":"${level}","message":"${message}"`);
}

let lastAt = NaN;
let lastTime = '';

/** ISO 8601, UTC. Under load many lines are of one millisecond: the text is made once for them. */
function timeOf(at: number): string {
  if (at === lastAt) return lastTime;
  lastAt = at;
  lastTime = new Date(at).toISOString();
  return lastTime;
}

/** As `JSON.stringify` would write it, in a third of the time: there is one for each request. @param head its beginning. */
function requestJson({ id, user, method, path, status, ms, refused, more }: RequestLine, head: string): string {
  let line = `${head},"id":${quoted(id)},"user":${user === null ? 'null' : quoted(user)},"method":${quoted(method)}`;
  line += `,"path":${quoted(path)},"status":${status},"ms":${ms}`;
  if (refused !== undefined) line += `,"refused":${quoted(refused)}`;
  for (const name in more) {
    const value = more[name];
    if (value === undefined) continue;
    line += `,"${name}":${typeof value === 'string' ? quoted(value) : String(value)}`;
  }
  return `${line}}`;
}

/** Most texts have nothing that JSON escapes. */
function quoted(text: string): string {
  return /^[ !#-[\]-~]*$/.test(text) ? `"${text}"` : visible(JSON.stringify(text));
}

/** What {@link printable} escapes and JSON does not oblige its writers to: a terminal may show lines for machines, too. */
function visible(json: string): string {
  return json.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** One line without its end, for a terminal. */
export function renderText({ level, message, at, request, fields }: LogRecord): string {
  const time = new Date(at).toISOString().slice(11, 19);
  if (request !== undefined) {
    const { user, method, path, status, ms, id, refused, more } = request;
    const why = refused === undefined ? '' : ` (${refused})`;
    return printable(
      `${time} ${user ?? '-'} ${method} ${path} ${status} ${ms.toFixed(1)} ms ${id}${named(more)}${why}`,
    );
  }
  return printable(`${time} ${level === 'info' ? '' : `${level}: `}${message}${named(fields)}`);
}

function named(fields: LogFields = {}): string {
  return Object.entries(fields)
    .map(([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('');
}

/**
 * Escapes control characters, line separators and bidirectional controls. A client chooses paths and user names: they must not
 * forge a second line, steer a terminal, or show a line in another order.
 */
function printable(line: string): string {
  return line.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });
}
