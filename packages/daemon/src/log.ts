/** The one logger, the line of a request, and what must never be in either. */
import { Writable } from 'node:stream';
import { createLogger, format } from 'winston';
import { maskUrl } from './mask-url.js';

export type LogLevel = 'error' | 'warn' | 'info' | 'debug';

/** What a line carries beside its message: plain values, or the error that caused it under `error`. */
export type LogFields = Readonly<Record<string, unknown>>;

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
}

/** Where everything that happens is told. Messages are lower case, without a period and without secrets. */
export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  /** The line of one request, at level `info`. */
  request(line: RequestLine): void;
  /** Writes what is still waiting. Lines may be logged afterwards. */
  flush(): void;
}

export interface LogOptions {
  readonly level: LogLevel;
  /** `json`: one object per line, for machines. `text`: a line for a terminal. */
  readonly format: 'json' | 'text';
  /** Takes whole lines, several at a time. Default: standard output. */
  readonly write?: (lines: string) => void;
}

/** The format for standard output: JSON unless people are looking. */
export function outputFormat(): LogOptions['format'] {
  return process.stdout.isTTY ? 'text' : 'json';
}

/** Makes the logger. Nothing needs closing; {@link Log.flush} before the process ends. */
export function createLog(options: LogOptions): Log {
  const lines = new LineBuffer(options.write ?? ((text) => process.stdout.write(text)));
  const logger = createLogger({
    level: options.level,
    format: format.printf(options.format === 'json' ? jsonLine : textLine),
  });
  // A pipe instead of a transport: winston's stream transport schedules a callback for every line.
  logger.pipe(lines);

  const silent = () => undefined;
  const log = (level: LogLevel) => {
    if (!logger.isLevelEnabled(level)) return silent;
    return (message: string, fields?: LogFields) => {
      logger.log({ level, message, ...(fields === undefined ? {} : { fields: redact(fields) }) });
      // An error may be the last thing that this process says.
      if (level === 'error') lines.flush();
    };
  };
  return {
    error: log('error'),
    warn: log('warn'),
    info: log('info'),
    debug: log('debug'),
    request: logger.isLevelEnabled('info')
      ? (line) => logger.log({ level: 'info', message: 'request', request: line })
      : silent,
    flush: () => lines.flush(),
  };
}

/** Where winston's formats leave the finished line. */
const finished = Symbol.for('message');

/** Collects the lines of one turn of the event loop into one write: at full load, a tenth of the system calls. */
class LineBuffer extends Writable {
  readonly #write: (lines: string) => void;
  #pending = '';

  constructor(write: (lines: string) => void) {
    super({ objectMode: true });
    this.#write = write;
  }

  override _write(line: Readonly<Record<symbol, unknown>>, _encoding: BufferEncoding, done: () => void): void {
    if (this.#pending === '') setImmediate(() => this.flush());
    this.#pending += `${String(line[finished])}\n`;
    done();
  }

  flush(): void {
    const lines = this.#pending;
    this.#pending = '';
    if (lines !== '') this.#write(lines);
  }
}

/** winston's record of a line, as the two functions above made it. */
interface Line {
  readonly level: string;
  readonly message: unknown;
  readonly request?: RequestLine;
  readonly fields?: LogFields;
}

function jsonLine({ level, message, request, fields }: Line): string {
  const time = new Date().toISOString();
  return JSON.stringify({ time, level, message, ...request, ...fields });
}

function textLine({ level, message, request, fields }: Line): string {
  const time = new Date().toISOString().slice(11, 19);
  if (request !== undefined) {
    const { user, method, path, status, ms, id, refused } = request;
    return printable(
      `${time} ${user ?? '-'} ${method} ${path} ${status} ${ms.toFixed(1)} ms ${id}${refused === undefined ? '' : ` (${refused})`}`,
    );
  }
  const rest = Object.entries(fields ?? {}).map(
    ([name, value]) => ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return printable(`${time} ${level === 'info' ? '' : `${level}: `}${String(message)}${rest.join('')}`);
}

/** A client chooses paths and user names: they must not forge a second line or steer a terminal. */
function printable(line: string): string {
  return line.replace(/\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** Names whose values are nobody's business: `Password`, `X-Auth-Token`, `Authorization`. */
const secretName = /pass(word|wd|phrase)|token|secret|authorization|cookie|credential/i;

function redact(fields: LogFields): LogFields {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, redactValue(name, value, 0)]));
}

function redactValue(name: string, value: unknown, depth: number): unknown {
  if (secretName.test(name)) return '******';
  if (typeof value === 'string') return /^[a-z][a-z0-9+.-]*:\/\//i.test(value) ? maskUrl(value) : value;
  if (value instanceof URL) return maskUrl(value);
  if (value instanceof Error) return describeError(value);
  // Bodies and driver errors nest a few levels; whatever is deeper is not worth a line.
  if (typeof value !== 'object' || value === null || depth > 4) return value;
  if (Array.isArray(value)) return value.map((item) => redactValue('', item, depth + 1));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactValue(key, item, depth + 1)]));
}

/** The error's message and those of its causes, outermost first; the stack of the innermost, where it broke. */
function describeError(error: Error): string {
  const messages: string[] = [];
  let innermost = error;
  for (let current: unknown = error; current instanceof Error && messages.length < 8; current = current.cause) {
    messages.push(current.message);
    innermost = current;
  }
  const stack =
    innermost.stack
      ?.split('\n')
      .filter((line) => line.startsWith('    at '))
      .slice(0, 4) ?? [];
  return `${messages.join(': ')}${stack.length > 0 ? ` [${stack.map((line) => line.trim()).join('; ')}]` : ''}`;
}
