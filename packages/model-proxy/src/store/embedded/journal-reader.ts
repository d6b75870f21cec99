/** Reads the file of a journal: at the start of the proxy, and for a report of usage. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { runAtOnce, type Steps } from '@rackless/daemon/process/slices.js';
import { entryOf, MAX_LINE_BYTES, type Entry } from './journal-lines.js';

/** The result of {@link readJournalInSteps}. */
interface JournalContent {
  /** Length of the file up to the end of its last readable line, in bytes. */
  readonly goodBytes: number;
  /** Length of the file. */
  readonly bytes: number;
  /** Number of lines that are damaged and have readable lines behind them. A crash cannot cause them. */
  readonly damagedLines: number;
}

const READ_BYTES = 1_048_576;
const LINE_FEED = 0x0a;
/** Lines of one step. */
const LINES_AT_ONCE = 50;

/** Reads all entries at once, as {@link readJournalInSteps}. It blocks all requests: use it only at the start. */
export function readJournal(file: string, onEntry: (entry: Entry) => boolean): JournalContent {
  return runAtOnce(readJournalInSteps(file, onEntry));
}

/**
 * Reads all entries in their order.
 * @param onEntry returns false if the entry has an unknown form. It then counts as damaged.
 * @throws the error of node:fs; an error if the path is not a regular file.
 */
export function* readJournalInSteps(file: string, onEntry: (entry: Entry) => boolean): Steps<JournalContent> {
  // Without O_NONBLOCK, a pipe without a writer would block the start.
  const handle = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const status = fstatSync(handle);
    if (!status.isFile()) throw new Error('it is not a regular file');
    return yield* readLines(handle, onEntry);
  } finally {
    closeSync(handle);
  }
}

function* readLines(handle: number, onEntry: (entry: Entry) => boolean): Steps<JournalContent> {
  const block = Buffer.allocUnsafe(READ_BYTES);
  let rest: Buffer = Buffer.alloc(0);
  /** Bytes of a line above the limit that were dropped. */
  let dropped = 0;
  let offset = 0;
  let goodBytes = 0;
  let damagedLines = 0;
  let damagedSinceGood = 0;
  let lines = 0;
  const take = (line: Buffer, end: number): void => {
    const entry = dropped === 0 && line.length <= MAX_LINE_BYTES ? entryOf(line.toString()) : undefined;
    dropped = 0;
    if (entry === undefined || !onEntry(entry)) {
      damagedSinceGood += 1;
      return;
    }
    damagedLines += damagedSinceGood;
    damagedSinceGood = 0;
    goodBytes = end;
  };
  for (;;) {
    const count = readSync(handle, block, 0, READ_BYTES, offset);
    if (count === 0) break;
    const bytes = Buffer.concat([rest, block.subarray(0, count)]);
    const start = offset - rest.length;
    offset += count;
    let from = 0;
    for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, from)) {
      take(bytes.subarray(from, at), start + at + 1);
      from = at + 1;
      lines += 1;
      if (lines % LINES_AT_ONCE === 0) yield;
    }
    rest = bytes.subarray(from);
    if (rest.length <= MAX_LINE_BYTES) continue;
    dropped += rest.length;
    rest = Buffer.alloc(0);
  }
  return { goodBytes, bytes: offset, damagedLines };
}
