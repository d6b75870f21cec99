/** The logger of the daemons. */
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import type * as Winston from 'winston';
import { journalPrefix, type JournalPrefix } from './journal.js';
import { renderJson, renderText, type LogRecord, type RequestLine } from './log-line.js';
import { redact, type LogFields } from './redact.js';

export type { RequestLine } from './log-line.js';
export type { LogFields } from './redact.js';

/** Log levels. Each level includes the lines of the levels before it. */
const levels = ['error', 'warn', 'info', 'debug'] as const;
/** Name of a log level. */
type LogLevel = (typeof levels)[number];

/** A logger. Messages are lower case, without a period and without secrets. */
export interface Log {
  error(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  /** Logs one finished request, at level `info`. */
  request(line: RequestLine): void;
  /** Writes all buffered lines. The log can be used afterwards. */
  flush(): void;
}

/** Options of {@link createLog}. */
export interface LogOptions {
  readonly level: LogLevel;
  /** `json`: one object per line, for machines. `text`: a line for a terminal. */
  readonly format: 'json' | 'text';
  /**
   * Writes one or more whole lines. Default: standard output, with priorities if it is systemd's
   * journal.
   */
  readonly write?: (lines: string) => void;
  /** Number of this process in a group whose processes share the output. Each line contains it. */
  readonly worker?: number;
}

/** Returns the format for standard output: text on a terminal, JSON otherwise. */
export function outputFormat(): LogOptions['format'] {
  return process.stdout.isTTY ? 'text' : 'json';
}

/**
 * Creates the logger. Call {@link Log.flush} before the process exits. The log buffers the first
 * lines of a process until a flush, an error, or 250 ms.
 */
export function createLog(options: LogOptions): Log {
  const sink = new Sink(options);
  const isEnabled = (level: LogLevel) => levels.indexOf(level) <= levels.indexOf(options.level);

  const silent = () => undefined;
  const log = (level: LogLevel) => {
    if (!isEnabled(level)) return silent;
    return (message: string, fields?: LogFields) => {
      // A warning is about a host, a client or a file. A stack trace does not help there.
      const stacks = level !== 'warn';
      sink.add({
        level,
        message,
        timeMs: Date.now(),
        ...(fields === undefined ? {} : { fields: redact(fields, { stacks }) }),
      });
      // The process may exit after an error, so this line must not wait in the buffer.
      if (level === 'error') sink.flush();
    };
  };
  return {
    error: log('error'),
    warn: log('warn'),
    info: log('info'),
    debug: log('debug'),
    request: isEnabled('info')
      ? (request) => sink.addRequest({ level: 'info', message: 'request', timeMs: Date.now(), request })
      : silent,
    flush: () => sink.flush(),
  };
}

/** File descriptor of standard output. */
const STANDARD_OUTPUT = 1;

/** How long the first lines wait, in milliseconds. A daemon usually listens after this time. */
const START_MS = 250;

/**
 * Loads winston on first use. Loading takes 25 to 120 ms, and the daemon cannot accept connections
 * meanwhile. Lines of the start therefore wait until the daemon listens.
 */
class Sink {
  readonly #options: LogOptions;
  readonly #lines: LineBuffer;
  readonly #render: (record: LogRecord) => string;
  #logger: Winston.Logger | undefined;
  #early: LogRecord[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(options: LogOptions) {
    this.#options = options;
    const render = options.format === 'json' ? renderJson : renderText;
    const { worker } = options;
    this.#render = withPrefix(
      worker === undefined ? render : withWorker(render, options.format, worker),
      options.write === undefined ? journalPrefix(STANDARD_OUTPUT) : noPrefix,
    );
    const write = options.write ?? ((text: string) => process.stdout.write(text));
    this.#lines = new LineBuffer(worker === undefined ? write : (text) => writeInParts(text, write));
  }

  add(record: LogRecord): void {
    if (this.#logger !== undefined) {
      this.#logger.log(record as LogRecord & Winston.LogEntry); // winston allows any property
      return;
    }
    this.#timer ??= setTimeout(() => this.flush(), START_MS);
    this.#early.push(record);
  }

  /**
   * Writes the same line as winston, but without the streams of winston, which cost more time than
   * rendering and writing the line.
   */
  addRequest(record: LogRecord): void {
    if (this.#logger === undefined) this.add(record);
    else this.#lines.add(this.#render(record));
  }

  flush(): void {
    // A process without log lines (--version) does not load winston.
    if (this.#early.length > 0) this.#load();
    this.#lines.flush();
  }

  #load(): void {
    clearTimeout(this.#timer);
    // `require` and not `import()`, because a flush just before the process exits must be
    // synchronous.
    const { createLogger, format } = createRequire(import.meta.url)('winston') as typeof Winston;
    const render = this.#render;
    this.#logger = createLogger({
      level: this.#options.level,
      format: format.printf((info) => render(info as unknown as LogRecord)), // `add` passes a LogRecord
    });
    // A pipe instead of a transport: winston's stream transport schedules a callback for every
    // line.
    this.#logger.pipe(this.#lines);
    for (const record of this.#early.splice(0)) this.add(record);
  }
}

/** Adds the number of the worker to each line. */
function withWorker(render: (record: LogRecord) => string, format: LogOptions['format'], worker: number) {
  if (format === 'text') return (record: LogRecord) => `${render(record)} worker=${worker}`;
  return (record: LogRecord) => `${render(record).slice(0, -1)},"worker":${worker}}`;
}

/** The kernel writes up to this many bytes to a pipe at once (PIPE_BUF of Linux). */
const ATOMIC_BYTES = 4096;

/**
 * Writes whole lines in parts that the kernel does not mix with those of other processes. A longer line can be
 * mixed with others.
 */
function writeInParts(text: string, write: (lines: string) => void): void {
  let part = '';
  let bytes = 0;
  for (const line of text.split(/(?<=\n)/)) {
    const length = Buffer.byteLength(line);
    if (bytes > 0 && bytes + length > ATOMIC_BYTES) {
      write(part);
      part = '';
      bytes = 0;
    }
    part += line;
    bytes += length;
  }
  write(part);
}

const noPrefix: JournalPrefix = () => '';

function withPrefix(render: (record: LogRecord) => string, prefix: JournalPrefix): (record: LogRecord) => string {
  // Saves a function call per request if there is no journal.
  if (prefix('error') === '') return render;
  return (record) => `${prefix(record.level)}${render(record)}`;
}

/** Property in which winston's formats store the rendered line. */
const MESSAGE = Symbol.for('message');

/**
 * Joins the lines of one event loop iteration into one write. At full load this saves 90 % of the
 * system calls.
 */
class LineBuffer extends Writable {
  readonly #write: (lines: string) => void;
  #pending = '';

  constructor(write: (lines: string) => void) {
    super({ objectMode: true });
    this.#write = write;
  }

  override _write(line: Readonly<Record<symbol, unknown>>, _encoding: BufferEncoding, done: () => void): void {
    this.add(String(line[MESSAGE]));
    done();
  }

  /** @param line text without a line end. */
  add(line: string): void {
    if (this.#pending === '') setImmediate(() => this.flush());
    this.#pending += `${line}\n`;
  }

  flush(): void {
    const lines = this.#pending;
    this.#pending = '';
    if (lines !== '') this.#write(lines);
  }
}
