/**
 * One log file with the latest records. Records are appended. The file is rewritten when it has
 * more than twice the maximum number of records, when it is cleared, and after a failed write. So its size
 * is bounded, and a record usually costs one write of one line.
 */
import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { errorCode } from '@rackless/daemon/error-code.js';
import type { Log } from '@rackless/daemon/log/log.js';

/** The form of an entry. */
export const recordSchema = z.object({
  /** From 1. Not used twice, except after entries that could not be written or read. */
  id: z.number().int().positive(),
  /** ISO 8601, UTC. */
  time: z.string(),
  messageId: z.string(),
  args: z.array(z.string()),
  severity: z.enum(['OK', 'Warning', 'Critical']),
  message: z.string(),
  origin: z.string(),
  /** Absent if no Redfish client caused the event. */
  actor: z.object({ user: z.string().nullable(), address: z.string() }).optional(),
});

/** An entry; never mutated. */
export type LogRecord = z.infer<typeof recordSchema>;

/** The first line of a rewritten file: the next id, so that removed ids are not used again. */
const headSchema = z.object({ next: z.number().int().positive() });

/** Options of a log file. */
interface LogFileOptions {
  readonly path: string;
  /** Maximum number of records. */
  readonly limit: number;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Monotonic time in milliseconds. Default: the clock. */
  readonly now?: () => number;
  /** All operations wait for this promise: the removal of an earlier file at the same path. */
  readonly after?: Promise<void> | undefined;
}

/** Time in milliseconds after a failed write until the next attempt. */
const RETRY_MS = 30_000;

/** The state of the file. `records` are read when they are needed, and may be freed, except after a failed write. */
interface FileState {
  /** The id of the next record. */
  next: number;
  /** The number of records in the file. */
  lines: number;
  records: readonly LogRecord[] | undefined;
  /** Whether the file ends in the middle of a line, so that the next record needs a new line. */
  torn: boolean;
}

/** The content of the file. */
interface Contents {
  readonly records: readonly LogRecord[];
  /** The next id according to the first line; 1 if there is none. */
  readonly head: number;
  readonly lines: number;
  readonly torn: boolean;
}

/** One log file. */
export class LogFile {
  readonly #options: LogFileOptions;
  #state: FileState | undefined;
  #pending: Omit<LogRecord, 'id'>[] = [];
  /**
   * Time of the last failed write; undefined if the file has all records. After a failure, all records are in
   * memory.
   */
  #failedAt: number | undefined;
  #removed = false;
  /** Resolves when the last operation has ended: operations run one after the other. */
  #lastOperation: Promise<unknown>;
  /** Whether a flush waits in the queue of operations; false while a flush runs. */
  #flushQueued = false;

  constructor(options: LogFileOptions) {
    this.#options = options;
    this.#lastOperation = options.after ?? Promise.resolve();
  }

  /** Adds an entry, which is written soon. Ignores the entry after {@link remove}. */
  append(record: Omit<LogRecord, 'id'>): void {
    if (this.#removed) return;
    this.#pending.push(record);
    // While writing is slow, only the newest entries up to the limit wait.
    if (this.#pending.length > this.#options.limit) this.#pending.shift();
    if (this.#flushQueued) return;
    this.#flushQueued = true;
    void this.#enqueue(() => this.#flush());
  }

  /**
   * Returns the entries, oldest first. Returns the same array until an entry is added, or until
   * {@link clear} or {@link forget} is called.
   */
  read(): Promise<readonly LogRecord[]> {
    return this.#enqueue(async () => {
      await this.#flush();
      return await this.#records();
    });
  }

  /** Removes all entries. */
  clear(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#flush();
      const state = await this.#load();
      await this.#rewrite(state, []);
    });
  }

  /** Deletes the file and ignores later entries. */
  remove(): Promise<void> {
    this.#removed = true;
    this.#pending = [];
    return this.#enqueue(() => rm(this.#options.path, { force: true }));
  }

  /**
   * Frees the memory of the records; the next read loads them from the file. Has no effect after a
   * failed write.
   */
  forget(): void {
    if (this.#failedAt === undefined && this.#state !== undefined) this.#state.records = undefined;
  }

  /** Resolves when all entries are written, or writing has failed. Also retries a failed write. */
  flush(): Promise<void> {
    return this.#enqueue(async () => {
      await this.#flush();
      if (this.#failedAt !== undefined) await this.#writeAgain(await this.#load());
    });
  }

  #enqueue<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#lastOperation.then(work);
    this.#lastOperation = result.catch(() => undefined);
    return result;
  }

  async #flush(): Promise<void> {
    this.#flushQueued = false;
    if (this.#pending.length === 0 || this.#removed) return;
    const state = await this.#load();
    const added = this.#pending.map((record, index) => ({ id: state.next + index, ...record }));
    this.#pending = [];
    state.next += added.length;
    if (state.records !== undefined) state.records = this.#latest([...state.records, ...added]);
    state.lines += added.length;
    const { limit, path } = this.#options;
    if (this.#failedAt !== undefined) {
      if (this.#now() - this.#failedAt >= RETRY_MS) await this.#writeAgain(state);
      return;
    }
    if (state.lines > 2 * limit) {
      const records = state.records ?? this.#latest([...(await this.#parsed()).records, ...added]);
      await this.#rewrite(state, records);
      return;
    }
    await this.#tryToWrite(state, added, async () => {
      const text = (state.torn ? '\n' : '') + added.map((record) => `${JSON.stringify(record)}\n`).join('');
      const write = (): Promise<void> => appendFile(path, text, { mode: 0o600 });
      // Usually the folder exists. Without it, the first try writes nothing. Then this function creates the folder
      // and tries again.
      await write().catch(async (error: unknown) => {
        if (errorCode(error) !== 'ENOENT') throw error;
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await write();
      });
      state.torn = false;
    });
  }

  /** Writes all records after a failed write. */
  async #writeAgain(state: FileState): Promise<void> {
    await this.#rewrite(state, state.records ?? []);
    // Frees the records now, because `forget` had no effect during the failure, and nothing calls it again for a log
    // that is not used anymore.
    if (this.#failedAt === undefined) state.records = undefined;
  }

  async #rewrite(state: FileState, records: readonly LogRecord[]): Promise<void> {
    const { path } = this.#options;
    state.lines = records.length;
    state.records = records;
    const lines = [{ next: state.next }, ...records].map((line) => `${JSON.stringify(line)}\n`);
    await this.#tryToWrite(state, records, async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      // If the daemon is killed meanwhile, the old file or the new file remains.
      try {
        await writeFile(`${path}.new`, lines.join(''), { mode: 0o600 });
        await rename(`${path}.new`, path);
      } catch (error) {
        // The incomplete file would use space on a full disk.
        await rm(`${path}.new`, { force: true });
        throw error;
      }
      state.torn = false;
    });
  }

  /** Writes the log. If this fails, logs the first failure, and continues in memory. */
  async #tryToWrite(state: FileState, added: readonly LogRecord[], write: () => Promise<void>): Promise<void> {
    const { path, log } = this.#options;
    try {
      await write();
      if (this.#failedAt !== undefined) log.info(`writing ${path} works again`);
      this.#failedAt = undefined;
    } catch (error) {
      const [first] = added;
      // The file may already have some of the added records, so only older records are read from it.
      state.records ??= await this.#parsed().then(
        ({ records }) => this.#latest([...records.filter(({ id }) => id < (first?.id ?? state.next)), ...added]),
        () => added,
      );
      if (this.#failedAt === undefined)
        log.warn(`writing ${path} failed: its log is only in memory until a later write succeeds`, { error });
      this.#failedAt = this.#now();
    }
  }

  #now(): number {
    return (this.#options.now ?? (() => performance.now()))();
  }

  async #records(): Promise<readonly LogRecord[]> {
    const state = await this.#load();
    state.records ??= (await this.#parsed()).records;
    return state.records;
  }

  async #load(): Promise<FileState> {
    if (this.#state !== undefined) return this.#state;
    const { records, head, lines, torn } = await this.#parsed();
    this.#state = { next: Math.max(head, (records.at(-1)?.id ?? 0) + 1), lines, records, torn };
    return this.#state;
  }

  async #parsed(): Promise<Contents> {
    const { path, log } = this.#options;
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') log.warn(`reading ${path} failed: its log is now empty`, { error });
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
    // The last line may be incomplete: the daemon was killed, or the disk was full.
    if (damaged > 0) log.warn(`ignored invalid lines in ${path}`, { lines: damaged });
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
    // Ignores a damaged line. The caller counts these lines.
    return undefined;
  }
}
