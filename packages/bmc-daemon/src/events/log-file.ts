/**
 * One log: the last so many records, in a file that is appended to. It is rewritten only when it has grown to twice what is
 * kept, and when it is cleared; so it is bounded, and an entry costs one write of one line.
 */
import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { errorCode } from '@rackless/daemon/error-code.js';
import type { Log } from '@rackless/daemon/log.js';

const recordSchema = z.object({
  /** From 1 on, and never given twice. */
  id: z.number().int().positive(),
  /** ISO 8601, UTC. */
  time: z.string(),
  messageId: z.string(),
  args: z.array(z.string()),
  severity: z.enum(['OK', 'Warning', 'Critical']),
  message: z.string(),
  origin: z.string(),
  /** Absent: nobody asked over Redfish. */
  actor: z.object({ user: z.string().nullable(), address: z.string() }).optional(),
});

/** One entry. Never changed. */
export type LogRecord = z.infer<typeof recordSchema>;

/** The first line of a file that was rewritten: what went before is gone, its ids are not given again. */
const headSchema = z.object({ next: z.number().int().positive() });

/** Where a log is and how long. */
export interface LogFileOptions {
  readonly path: string;
  /** How many records are kept. */
  readonly limit: number;
  readonly log: Pick<Log, 'warn'>;
  /** What has to be over before the file is looked at: the removal of one before it. */
  readonly after?: Promise<void> | undefined;
}

/** What is known of the file; `records` are read from it when they are asked for, and can be forgotten. */
interface Known {
  next: number;
  /** Records in the file. */
  lines: number;
  records: readonly LogRecord[] | undefined;
  /** It ends in the middle of a line: the next one must not be glued to it. */
  torn: boolean;
}

/** What the file holds. */
interface Contents {
  readonly records: readonly LogRecord[];
  readonly head: number;
  readonly lines: number;
  readonly torn: boolean;
}

/** One log, appended to and cut when it has grown. */
export class LogFile {
  readonly #options: LogFileOptions;
  #known: Known | undefined;
  #pending: Omit<LogRecord, 'id'>[] = [];
  /** The file can not be written: what there is, is in memory alone. */
  #broken = false;
  #removed = false;
  /** One thing after the other. */
  #turn: Promise<unknown>;
  #flushing = false;

  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#turn = options.after ?? Promise.resolve();
  }

  /** Adds an entry; it is on the disk soon. */
  append(record: Omit<LogRecord, 'id'>): void {
    if (this.#removed) return;
    this.#pending.push(record);
    // More than is kept need not be written first.
    if (this.#pending.length > this.#options.limit) this.#pending.shift();
    if (this.#flushing) return;
    this.#flushing = true;
    void this.#inTurn(() => this.#flush());
  }

  /** The entries, oldest first; the same array until one is added. */
  read(): Promise<readonly LogRecord[]> {
    return this.#inTurn(async () => {
      await this.#flush();
      return await this.#records();
    });
  }

  /** Forgets all entries. */
  clear(): Promise<void> {
    return this.#inTurn(async () => {
      await this.#flush();
      const known = await this.#load();
      await this.#rewrite(known, []);
    });
  }

  /** Deletes the file, and takes nothing any more. */
  remove(): Promise<void> {
    this.#removed = true;
    this.#pending = [];
    return this.#inTurn(() => rm(this.#options.path, { force: true }));
  }

  /** Lets go of what can be read again. */
  forget(): void {
    if (!this.#broken && this.#known !== undefined) this.#known.records = undefined;
  }

  /** Resolves when everything is on the disk. */
  flushed(): Promise<void> {
    return this.#inTurn(() => this.#flush());
  }

  #inTurn<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#turn.then(work);
    this.#turn = result.catch(() => undefined);
    return result;
  }

  async #flush(): Promise<void> {
    this.#flushing = false;
    if (this.#pending.length === 0 || this.#removed) return;
    const known = await this.#load();
    const added = this.#pending.map((record, index) => ({ id: known.next + index, ...record }));
    this.#pending = [];
    known.next += added.length;
    if (known.records !== undefined) known.records = this.#latest([...known.records, ...added]);
    known.lines += added.length;
    const { limit, path } = this.#options;
    if (known.lines > 2 * limit) {
      const records = known.records ?? this.#latest([...(await this.#parsed()).records, ...added]);
      await this.#rewrite(known, records);
      return;
    }
    await this.#writing(known, added, async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const start = known.torn ? '\n' : '';
      await appendFile(path, start + added.map((record) => `${JSON.stringify(record)}\n`).join(''), { mode: 0o600 });
      known.torn = false;
    });
  }

  async #rewrite(known: Known, records: readonly LogRecord[]): Promise<void> {
    const { path } = this.#options;
    known.lines = records.length;
    known.records = records;
    const lines = [{ next: known.next }, ...records].map((line) => `${JSON.stringify(line)}\n`);
    await this.#writing(known, records, async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // A daemon that is killed in the middle of it leaves the old file or the new one.
      await writeFile(`${path}.new`, lines.join(''), { mode: 0o600 });
      await rename(`${path}.new`, path);
      known.torn = false;
    });
  }

  /** Writes; where that fails, it is logged once, and the log goes on in memory. */
  async #writing(known: Known, added: readonly LogRecord[], write: () => Promise<void>): Promise<void> {
    if (this.#broken) return;
    try {
      await write();
    } catch (error) {
      known.records ??= await this.#parsed().then(
        ({ records }) => this.#latest([...records, ...added]),
        () => added,
      );
      this.#broken = true;
      this.#options.log.warn(`writing ${this.#options.path} failed: its log is in memory alone from now on`, { error });
    }
  }

  async #records(): Promise<readonly LogRecord[]> {
    const known = await this.#load();
    known.records ??= (await this.#parsed()).records;
    return known.records;
  }

  async #load(): Promise<Known> {
    if (this.#known !== undefined) return this.#known;
    const { records, head, lines, torn } = await this.#parsed();
    this.#known = { next: Math.max(head, (records.at(-1)?.id ?? 0) + 1), lines, records, torn };
    return this.#known;
  }

  async #parsed(): Promise<Contents> {
    const { path, log } = this.#options;
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') log.warn(`reading ${path} failed: its log begins anew`, { error });
      return { records: [], head: 1, lines: 0, torn: false };
    }
    let head = 1;
    let damaged = 0;
    const records: LogRecord[] = [];
    for (const line of text.split('\n')) {
      if (line === '') continue;
      const parsed = parseLine(line);
      if (parsed === undefined) damaged += 1;
      else if ('next' in parsed) head = parsed.next;
      else records.push(parsed);
    }
    // The last line may be half of one: the daemon was killed, or the disk was full.
    if (damaged > 0) log.warn(`${path} holds lines that are no entries of a log`, { lines: damaged });
    return { records: this.#latest(records), head, lines: records.length, torn: text !== '' && !text.endsWith('\n') };
  }

  #latest(records: readonly LogRecord[]): readonly LogRecord[] {
    return records.length > this.#options.limit ? records.slice(-this.#options.limit) : records;
  }
}

function parseLine(line: string): LogRecord | z.infer<typeof headSchema> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    const record = recordSchema.safeParse(value);
    return record.success ? record.data : headSchema.parse(value);
  } catch {
    // Counted by the caller.
    return undefined;
  }
}
