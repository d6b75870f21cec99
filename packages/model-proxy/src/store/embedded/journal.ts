/**
 * A file to which a store appends its entries. A new line for an entry replaces its older lines. When
 * the file has grown, a compaction replaces it with one line for each entry.
 *
 * A file that a killed process leaves is complete up to its last write. A write is in the operating
 * system when {@link Journal.append} resolves, and on the disk with the option `sync`.
 */
import { copyFileSync, existsSync, linkSync, renameSync, rmSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '@rackless/daemon/log/log.js';
import { lineOf, MAX_LINE_BYTES, type Entry } from './journal-lines.js';
import { readJournal } from './journal-reader.js';

/** Options of {@link Journal.open}. */
interface JournalOptions {
  readonly file: string;
  readonly log: Pick<Log, 'warn' | 'error'>;
  /** Loads an entry of the file. @returns false if its form is unknown. */
  readonly load: (entry: Entry) => boolean;
  /** Returns all entries at present, for a compaction. They may change while the compaction runs. */
  readonly entries: () => Iterable<Entry>;
}

/** The first line of each file. A later version of the proxy may write another number. */
const FORMAT: Entry = ['format', 'rackless-model-proxy-store', { version: 1 }];
const [FORMAT_KIND, FORMAT_ID] = FORMAT;
/** Smaller files are not compacted. */
const MIN_COMPACTION_BYTES = 4 * 1024 * 1024;
/** Entries of one write of a compaction. More would block requests for longer. */
const ENTRIES_AT_ONCE = 500;

/** An open journal. */
export class Journal {
  readonly #options: JournalOptions;
  #handle: FileHandle;
  /** Length of the file up to the end of the last complete write. */
  #length: number;
  /** Length of the file at the last compaction, also a failed one, or when it was opened. */
  #compactLength: number;
  /** Whether a failed write may have left bytes behind `#length`. */
  #isTorn = false;
  /** The last operation on the file. Operations run one after the other. */
  #last: Promise<unknown> = Promise.resolve();
  /** Lines that were appended while a compaction runs; null: no compaction runs. */
  #sinceCompaction: string[] | null = null;

  private constructor(options: JournalOptions, handle: FileHandle, length: number) {
    this.#options = options;
    this.#handle = handle;
    this.#length = length;
    this.#compactLength = length;
  }

  /**
   * Opens the file and loads its entries. Creates the file if there is none. Removes a write that a
   * crash interrupted. If other lines are damaged, or the line with the format is missing, keeps a copy of the file and
   * loads the readable lines.
   * @throws the error of node:fs; {@link JournalError} if another version has written the file.
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const { file } = options;
    rmSync(temporaryOf(file), { force: true });
    if (!existsSync(file)) return Journal.#create(options);
    let formats = 0;
    const { goodBytes, bytes, damagedLines } = readJournal(file, (entry) => {
      const isFormat = entry[0] === FORMAT_KIND;
      if (isFormat) {
        checkFormat(file, entry);
        formats += 1;
      }
      return isFormat || options.load(entry);
    });
    if (bytes > 0 && (damagedLines > 0 || formats === 0)) return Journal.#rescue(options, damagedLines);
    if (goodBytes === 0) {
      options.log.warn(`${file} was empty, so its entries are lost: a file of this proxy has at least one line`);
      return Journal.#create(options);
    }
    const handle = await open(file, 'r+');
    if (goodBytes < bytes) {
      options.log.warn(`${file}: removed the last ${bytes - goodBytes} bytes, a write that was interrupted`);
      await handle.truncate(goodBytes);
    }
    return new Journal(options, handle, goodBytes);
  }

  static async #create(options: JournalOptions): Promise<Journal> {
    const { handle, length } = await writeCopy(options.file, []);
    return Journal.#publish(options, handle, length);
  }

  /** Renames the new file, which is complete, to the name of the journal. */
  static async #publish(options: JournalOptions, handle: FileHandle, length: number): Promise<Journal> {
    renameSync(temporaryOf(options.file), options.file);
    await syncFolder(options.file);
    return new Journal(options, handle, length);
  }

  /**
   * Keeps a damaged file under another name, and writes a new one with its readable entries. At any
   * moment, the name of the file belongs to the damaged file or to the complete new one.
   */
  static async #rescue(options: JournalOptions, damagedLines: number): Promise<Journal> {
    const { file, log } = options;
    const { handle, length } = await writeCopy(file, options.entries());
    const aside = `${file}.damaged-${new Date().toISOString().replaceAll(':', '-')}`;
    try {
      linkSync(file, aside);
    } catch {
      // Some network file systems have no links.
      copyFileSync(file, aside);
    }
    const journal = await Journal.#publish(options, handle, length);
    log.error(
      `${file} was damaged: ${damagedLines === 0 ? 'it is not a file of this proxy' : `${damagedLines} lines are unreadable`}. ` +
        `Its readable entries are in use, and the old file is ${aside}. Check the list of keys: a deleted key may be valid again`,
    );
    return journal;
  }

  /** Whether the file has grown so much that a compaction is due. False while a compaction runs. */
  get isLong(): boolean {
    return this.#sinceCompaction === null && this.#length > Math.max(MIN_COMPACTION_BYTES, 3 * this.#compactLength);
  }

  /**
   * Appends entries. If that fails, the next write removes the part that was written.
   * @param options `sync`: resolves only when the entries are on the disk.
   * @throws the error of node:fs; an Error, if an entry is too long.
   */
  append(entries: readonly Entry[], options: { readonly sync: boolean }): Promise<void> {
    let text = '';
    for (const entry of entries) {
      const line = lineOf(entry);
      // A reader would treat the line as damaged.
      if (Buffer.byteLength(line) > MAX_LINE_BYTES)
        return Promise.reject(new Error(`an entry has more than ${MAX_LINE_BYTES} bytes`));
      text += line;
    }
    return this.#inOrder(async () => {
      await this.#write(text, options);
      this.#sinceCompaction?.push(text);
    });
  }

  /**
   * Replaces the file with one line for each entry. Other writes continue meanwhile.
   * @throws the error of node:fs. The old file then stays in use.
   */
  async compact(): Promise<void> {
    const { file, entries } = this.#options;
    const temporary = temporaryOf(file);
    this.#sinceCompaction = [];
    let next: FileHandle | undefined;
    try {
      const { handle, length } = await writeCopy(file, entries());
      next = handle;
      await this.#inOrder(() => this.#replaceBy(handle, temporary, length));
    } catch (error) {
      await next?.close().catch(() => undefined);
      rmSync(temporary, { force: true });
      // Do not try again at once: the disk may be full.
      this.#compactLength = Math.max(this.#compactLength, this.#length);
      throw error;
    } finally {
      this.#sinceCompaction = null;
    }
  }

  async #replaceBy(next: FileHandle, temporary: string, length: number): Promise<void> {
    const end = await writeAll(next, (this.#sinceCompaction ?? []).join(''), length);
    await next.datasync();
    renameSync(temporary, this.#options.file);
    const old = this.#handle;
    this.#handle = next;
    this.#length = end;
    this.#compactLength = end;
    this.#isTorn = false;
    await syncFolder(this.#options.file);
    await old.close().catch(() => undefined);
  }

  /** Waits for the writes and closes the file. */
  async close(): Promise<void> {
    await this.#inOrder(async () => {
      await this.#handle.datasync().catch(() => undefined);
      await this.#handle.close();
    });
  }

  async #write(text: string, { sync }: { readonly sync: boolean }): Promise<void> {
    // Whole lines of a failed write may remain behind the end. They must not become valid.
    if (this.#isTorn) await this.#handle.truncate(this.#length);
    this.#isTorn = true;
    const end = await writeAll(this.#handle, text, this.#length);
    if (sync) await this.#handle.datasync();
    this.#length = end;
    this.#isTorn = false;
  }

  #inOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** A journal cannot be used. The message is for the operator. */
export class JournalError extends Error {
  override readonly name = 'JournalError';
}

const temporaryOf = (file: string) => `${file}.new`;

function checkFormat(file: string, [, id, value]: Entry): void {
  const version = value !== null && 'version' in value ? value.version : undefined;
  if (id !== FORMAT_ID || version !== 1)
    throw new JournalError(`${file} was written by another version of the proxy, which this version cannot read`);
}

/** Writes a complete file under the temporary name, and stores it on the disk. */
async function writeCopy(
  file: string,
  entries: Iterable<Entry>,
): Promise<{ readonly handle: FileHandle; readonly length: number }> {
  const handle = await open(temporaryOf(file), 'w+', 0o600);
  try {
    let length = await writeAll(handle, lineOf(FORMAT), 0);
    let text = '';
    let count = 0;
    for (const entry of entries) {
      text += lineOf(entry);
      count += 1;
      if (count % ENTRIES_AT_ONCE !== 0) continue;
      length = await writeAll(handle, text, length);
      text = '';
    }
    length = await writeAll(handle, text, length);
    await handle.datasync();
    return { handle, length };
  } catch (error) {
    await handle.close().catch(() => undefined);
    throw error;
  }
}

/** Writes a text at a position of a file. @returns the position after the text. */
async function writeAll(handle: FileHandle, text: string, position: number): Promise<number> {
  const bytes = Buffer.from(text);
  let written = 0;
  while (written < bytes.length) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, position + written);
    written += bytesWritten;
  }
  return position + bytes.length;
}

/** Stores a rename on the disk. Some file systems do not support this. */
async function syncFolder(file: string): Promise<void> {
  const folder = await open(path.dirname(file), 'r').catch(() => undefined);
  await folder?.sync().catch(() => undefined);
  await folder?.close();
}
