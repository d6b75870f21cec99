/**
 * Stores the console log of one machine: a folder for each boot with `boot.json` and the text in
 * files of limited size. The name of a file is its position in the boot (`65536.log`). Next to it,
 * `65536.times` has a line for each mark: a position in the boot, and the time of the text there,
 * in milliseconds since 1970. A boot that grows too long loses files in its middle. The methods are
 * not reentrant: the caller waits for one before it calls the next.
 */
import { appendFile, mkdir, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import { StorageError } from '../../storage-error.js';
import { contentsOf, factsIn, namesIn, numbersIn, parseMarks, type BootFacts } from './console-log-files.js';
import type { Stretch } from './console-log-lines.js';
import { missingBytesText, note, type Mark, type Piece } from './console-log-pending.js';

/** Size limits of the folder of one machine. */
export interface ConsoleLogLimits {
  /** Size of a file in bytes. */
  readonly segmentBytes: number;
  /** Number of files to keep from the beginning of a boot. */
  readonly firstSegments: number;
  /** Number of files to keep from the end of a boot. */
  readonly lastSegments: number;
  /** Maximum number of boots. */
  readonly boots: number;
}

/** A recorded boot. */
export interface Boot extends BootFacts {
  /** Counts from 1. A machine never uses a number again, until its folder is deleted. */
  readonly number: number;
  /** Length of {@link ConsoleLogFolder.text} in bytes, with its notes. */
  readonly size: number;
}

interface Segment {
  /** Position of the first byte in the boot. */
  readonly at: number;
  size: number;
}

interface StoredBoot extends BootFacts {
  readonly number: number;
  readonly segments: Segment[];
  /** Number of marks that this process has written to the last file. */
  marks: number;
}

/**
 * Maximum number of marks that one process writes for a text file. A machine that prints a few bytes a second would
 * otherwise have more marks than text.
 */
const MAX_MARKS = 4_096;

/** The folder of one machine. All methods also reject with the errors of node:fs if the folder is unreadable. */
export class ConsoleLogFolder {
  readonly #path: string;
  readonly #limits: ConsoleLogLimits;
  #boots: StoredBoot[] | undefined;

  constructor(folder: string, limits: ConsoleLogLimits) {
    this.#path = folder;
    this.#limits = limits;
  }

  /** Returns the boots with text, oldest first. */
  async boots(): Promise<readonly Boot[]> {
    const stored = await this.#load();
    return stored
      .filter(({ segments }) => segments.length > 0)
      .map(({ number, began, instance, segments }) => ({ number, began, instance, size: sizeOf(segments) }));
  }

  /** Returns the last boot, with or without text; undefined if there is none. */
  async last(): Promise<(BootFacts & { readonly number: number }) | undefined> {
    return (await this.#load()).at(-1);
  }

  /** Bytes of stored text; 0 before the folder has been read. */
  get size(): number {
    return (this.#boots ?? []).reduce((sum, { segments }) => sum + bytesOf(segments), 0);
  }

  /**
   * Begins a boot; removes the oldest boots if there are too many.
   * @returns its number.
   * @throws {StorageError} if the facts of the boot cannot be written.
   */
  async begin(boot: BootFacts): Promise<number> {
    const stored = await this.#load();
    const number = (stored.at(-1)?.number ?? 0) + 1;
    await this.#writeFacts(number, boot);
    stored.push({ ...boot, number, segments: [], marks: 0 });
    while (stored.length > this.#limits.boots) await this.removeOldest();
    return number;
  }

  /**
   * Stores the new id of the run to which a boot belongs. After a restart of the daemon, the id shows that
   * the machine still runs this boot. Does nothing if the boot has been removed.
   * @throws {StorageError} if the facts of the boot cannot be written.
   */
  async setInstance(number: number, instance: string): Promise<void> {
    const boot = (await this.#load()).find((stored) => stored.number === number);
    if (boot === undefined) return;
    boot.instance = instance;
    await this.#writeFacts(number, { began: boot.began, instance });
  }

  /**
   * Appends to a boot; does nothing if the boot has been removed.
   * @param time of text before the first mark, in milliseconds since 1970.
   * @throws the errors of node:fs; then call {@link recount}.
   */
  async append(number: number, { bytes, marks }: Piece, time: number): Promise<void> {
    const boot = (await this.#load()).find((stored) => stored.number === number);
    if (boot === undefined) return;
    for (let from = 0; from < bytes.length;) {
      const segment = await this.#segment(boot);
      const to = Math.min(bytes.length, from + this.#limits.segmentBytes - segment.size);
      const place = segment.at + segment.size;
      const segmentMarks = marks
        .filter(({ at }) => at >= from && at < to)
        .map((mark) => ({ ...mark, at: place + mark.at - from }));
      // If a file begins in the middle of a line, it needs a mark with the time of that line.
      const before = marks.findLast(({ at }) => at < from)?.time ?? time;
      const isTimeMissing = segment.size === 0 && segmentMarks[0]?.at !== place;
      const written = isTimeMissing ? [{ at: place, time: before }, ...segmentMarks] : segmentMarks;
      await this.#write(boot, segment, bytes.subarray(from, to), written);
      from = to;
    }
  }

  /**
   * Returns the stored text of a boot; no stretch if the boot has been removed. Each gap starts a new stretch.
   * @throws the errors of node:fs for an unreadable file; a missing file counts as empty.
   */
  async stretches(number: number): Promise<readonly Stretch[]> {
    const boot = (await this.#load()).find((stored) => stored.number === number);
    if (boot === undefined) return [];
    const folder = this.#folderOf(number);
    const parts: { start: number; bytes: Buffer[]; end: number; marks: Mark[] }[] = [];
    for (const { at } of boot.segments) {
      const bytes = await contentsOf(path.join(folder, `${at}.log`));
      const marks = parseMarks((await contentsOf(path.join(folder, `${at}.times`))).toString());
      const last = parts.at(-1);
      if (last?.end === at) {
        last.bytes.push(bytes);
        last.end += bytes.length;
        last.marks.push(...marks);
      } else parts.push({ start: at, bytes: [bytes], end: at + bytes.length, marks: [...marks] });
    }
    return parts.map(({ start, bytes, marks }) => ({ start, bytes: Buffer.concat(bytes), marks }));
  }

  /** Returns the stored text of a boot, with a note in place of each gap; empty if the boot has been removed. */
  async text(number: number): Promise<Buffer> {
    const stretches = await this.stretches(number);
    return Buffer.concat(
      stretches.flatMap(({ start, bytes }, index) => {
        const before = stretches[index - 1];
        return before === undefined
          ? [bytes]
          : [note(missingBytesText(start - before.start - before.bytes.length)), bytes];
      }),
    );
  }

  /**
   * Returns when the last text of a boot was written, in milliseconds since 1970.
   * @returns undefined if the boot has no text, has been removed, or its file cannot be examined.
   */
  async lastWrittenAt(number: number): Promise<number | undefined> {
    const boot = (await this.#load()).find((stored) => stored.number === number);
    const segment = boot?.segments.at(-1);
    if (segment === undefined) return undefined;
    const file = path.join(this.#folderOf(number), `${segment.at}.log`);
    return await stat(file).then(
      ({ mtimeMs }) => Math.floor(mtimeMs),
      () => undefined,
    );
  }

  /**
   * Removes the oldest boots, up to and including the first one that has text. Never removes the
   * last boot.
   */
  async removeOldest(): Promise<void> {
    const stored = await this.#load();
    let isFreed = false;
    while (!isFreed && stored.length > 1) {
      for (const { number, segments } of stored.splice(0, 1)) {
        await rm(this.#folderOf(number), { recursive: true, force: true });
        isFreed = segments.length > 0;
      }
    }
  }

  /**
   * Removes all boots and begins a new one. Numbers continue, even after a restart.
   * @returns the number of the new boot.
   * @throws {StorageError} as {@link begin}.
   */
  async clear(next: BootFacts): Promise<number> {
    const stored = await this.#load();
    const number = await this.begin(next);
    for (const { number: old } of stored.filter((boot) => boot.number !== number)) {
      await rm(this.#folderOf(old), { recursive: true, force: true });
    }
    this.#boots = stored.filter((boot) => boot.number === number);
    return number;
  }

  /** Deletes the folder with all boots. */
  async remove(): Promise<void> {
    this.#boots = [];
    await rm(this.#path, { recursive: true, force: true });
  }

  /** Forgets the sizes of all files, after a failed write. The next call reads the folder again. */
  recount(): void {
    this.#boots = undefined;
  }

  /**
   * Returns the file to append to. A new file above the limits replaces one in the middle of the
   * boot.
   */
  async #segment(boot: StoredBoot): Promise<Segment> {
    const { segmentBytes, firstSegments, lastSegments } = this.#limits;
    const last = boot.segments.at(-1);
    if (last !== undefined && last.size < segmentBytes && boot.marks < MAX_MARKS) return last;
    const segment = { at: last === undefined ? 0 : last.at + last.size, size: 0 };
    boot.segments.push(segment);
    boot.marks = 0;
    if (boot.segments.length > firstSegments + lastSegments) {
      for (const { at } of boot.segments.splice(firstSegments, 1)) {
        const folder = this.#folderOf(boot.number);
        for (const kind of ['log', 'times']) await rm(path.join(folder, `${at}.${kind}`), { force: true });
      }
    }
    return segment;
  }

  async #write(boot: StoredBoot, segment: Segment, bytes: Buffer, marks: readonly Mark[]): Promise<void> {
    const file = path.join(this.#folderOf(boot.number), String(segment.at));
    // Writes the marks first: after a crash in between, a mark without text is harmless.
    if (marks.length > 0) {
      const lines = marks.map(({ at, time }) => `${at} ${time}\n`).join('');
      await appendFile(`${file}.times`, lines, { mode: 0o600 });
      boot.marks += marks.length;
    }
    await appendFile(`${file}.log`, bytes, { mode: 0o600 });
    segment.size += bytes.length;
  }

  async #load(): Promise<StoredBoot[]> {
    if (this.#boots !== undefined) return this.#boots;
    const boots: StoredBoot[] = [];
    for (const number of numbersIn(await namesIn(this.#path), /^(\d+)$/)) {
      const folder = this.#folderOf(number);
      const segments: Segment[] = [];
      for (const at of numbersIn(await namesIn(folder), /^(\d+)\.log$/)) {
        segments.push({ at, size: (await stat(path.join(folder, `${at}.log`))).size });
      }
      boots.push({ ...(await factsIn(folder)), number, segments, marks: 0 });
    }
    this.#boots = boots;
    return boots;
  }

  async #writeFacts(number: number, boot: BootFacts): Promise<void> {
    const folder = this.#folderOf(number);
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(path.join(folder, 'boot.json'), `${JSON.stringify(boot)}\n`, { mode: 0o600 });
    } catch (error) {
      throw new StorageError(`writing ${path.join(folder, 'boot.json')}: ${fileReason(error)}`, { cause: error });
    }
  }

  #folderOf(number: number): string {
    return path.join(this.#path, String(number));
  }
}

/** Returns the length of {@link ConsoleLogFolder.text}. */
function sizeOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { at, size }, index) => {
    const before = segments[index - 1];
    const gap = before === undefined ? 0 : at - before.at - before.size;
    return sum + size + (gap > 0 ? note(missingBytesText(gap)).length : 0);
  }, 0);
}

function bytesOf(segments: readonly Segment[]): number {
  return segments.reduce((sum, { size }) => sum + size, 0);
}
