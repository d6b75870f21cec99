/** The one logger. */
import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import type * as Winston from 'winston';
import { journalPrefix, type JournalPrefix } from './journal.js';
import { renderJson, renderText, type LogRecord, type RequestLine } from './log-line.js';
import { redact, type LogFields } from './redact.js';

export type { RequestLine } from './log-line.js';
export type { LogFields } from './redact.js';

/** From the least to the most talkative. */
const levels = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof levels)[number];

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
  /** Takes whole lines, several at a time. Default: standard output, with priorities where the journal reads it. */
  readonly write?: (lines: string) => void;
}

/** The format for standard output: JSON unless people are looking. */
export function outputFormat(): LogOptions['format'] {
  return process.stdout.isTTY ? 'text' : 'json';
}

/**
 * Makes the logger. Nothing needs closing; {@link Log.flush} before the process ends. The first lines of a process wait for a
 * flush, an error, or a quarter of a second, whichever comes first.
 */
export function createLog(options: LogOptions): Log {
  const sink = new Sink(options);
  const isEnabled = (level: LogLevel) => levels.indexOf(level) <= levels.indexOf(options.level);

  const silent = () => undefined;
  const log = (level: LogLevel) => {
    if (!isEnabled(level)) return silent;
    return (message: string, fields?: LogFields) => {
      // A warning is about a host, a client or a file: the place in our code says nothing of those.
      const stacks = level !== 'warn';
      sink.add({
        level,
        message,
        at: Date.now(),
        ...(fields === undefined ? {} : { fields: redact(fields, { stacks }) }),
      });
      // An error may be the last thing that this process says.
      if (level === 'error') sink.flush();
    };
  };
  return {
    error: log('error'),
    warn: log('warn'),
    info: log('info'),
    debug: log('debug'),
    request: isEnabled('info')
      ? (request) => sink.addRequest({ level: 'info', message: 'request', at: Date.now(), request })
      : silent,
    flush: () => sink.flush(),
  };
}

/** Long enough for a daemon to be listening, in milliseconds. */
const START_MS = 250;

/**
 * winston, once it is needed. Loading it takes 25 to 120 ms, in which nobody could connect yet, and what is said while a
 * daemon starts can wait until it listens.
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
    this.#render = withPrefix(
      options.format === 'json' ? renderJson : renderText,
      options.write === undefined ? journalPrefix(1) : noPrefix,
    );
    this.#lines = new LineBuffer(options.write ?? ((text) => process.stdout.write(text)));
  }

  add(record: LogRecord): void {
    if (this.#logger !== undefined) {
      this.#logger.log(record as LogRecord & Winston.LogEntry); // any name may stand in an entry, none in an interface
      return;
    }
    this.#timer ??= setTimeout(() => this.flush(), START_MS);
    this.#early.push(record);
  }

  /** Written as winston would, without its streams: they cost more than all the rest of a line. */
  addRequest(record: LogRecord): void {
    if (this.#logger === undefined) this.add(record);
    else this.#lines.add(this.#render(record));
  }

  flush(): void {
    // Not for nothing: a process that has nothing to say (--version) does not load what would say it.
    if (this.#early.length > 0) this.#load();
    this.#lines.flush();
  }

  #load(): void {
    clearTimeout(this.#timer);
    // Not `import()`, which is never there at once: a flush may stand before the end of the process.
    const { createLogger, format } = createRequire(import.meta.url)('winston') as typeof Winston;
    const render = this.#render;
    this.#logger = createLogger({
      level: this.#options.level,
      format: format.printf((info) => render(info as unknown as LogRecord)), // what `add` gave it
    });
    // A pipe instead of a transport: winston's stream transport schedules a callback for every line.
    this.#logger.pipe(this.#lines);
    for (const record of this.#early.splice(0)) this.add(record);
  }
}

const noPrefix: JournalPrefix = () => '';

function withPrefix(render: (record: LogRecord) => string, prefix: JournalPrefix): (record: LogRecord) => string {
  // Most lines are requests: without a journal they cost no call more.
  if (prefix('error') === '') return render;
  return (record) => `${prefix(record.level)}${render(record)}`;
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
    this.add(String(line[finished]));
    done();
  }

  /** @param line without its end. */
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
