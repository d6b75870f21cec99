/**
 * Finds the ends of events in a stream, and the data in an event.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
import type { Span } from '../json/navigate.js';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** Bytes to search in a loop. For longer lines, a native search is faster. */
const NEARBY = 512;

/**
 * Finds the end of the line that contains `from`.
 * @returns the offset of its LF or CR; -1: these bytes do not contain the end.
 */
function endOfLine(bytes: Buffer, from: number): number {
  const nearby = Math.min(bytes.length, from + NEARBY);
  for (let offset = from; offset < nearby; offset += 1) {
    const byte = bytes[offset];
    if (byte === LF || byte === CR) return offset;
  }
  if (nearby === bytes.length) return -1;
  const lf = bytes.indexOf(LF, nearby);
  const cr = (lf === -1 ? bytes : bytes.subarray(0, lf)).indexOf(CR, nearby);
  return cr === -1 ? lf : cr;
}

/**
 * Finds the ends of events in a stream of chunks. Lines end with LF, CRLF or CR. An event ends with
 * an empty line.
 */
export class EventEnds {
  /** The current line has no bytes yet. */
  #lineIsEmpty = true;
  /** The last byte was a CR. If the next byte is an LF, both are a single line end. */
  #afterCr = false;

  /** Returns whether the next byte certainly begins a line. It may be a line of an event that a chunk before began. */
  get atLineStart(): boolean {
    return this.#lineIsEmpty && !this.#afterCr;
  }

  /**
   * Begins a chunk. Call this once for each chunk, before {@link next}.
   * @returns the number of its first bytes that belong to the line end of the chunk before: 0 or 1.
   */
  begin(chunk: Buffer): number {
    if (!this.#afterCr || chunk.length === 0) return 0;
    this.#afterCr = false;
    return chunk[0] === LF ? 1 : 0;
  }

  /**
   * Finds the end of the current event. Further empty lines in this chunk belong to it, so that a stream of empty
   * lines is not millions of events. Empty lines at the start of the next chunk are an event of their own.
   * @param from the last result of this method, or the result of {@link begin}.
   * @returns the offset after the event's empty lines; -1: the event does not end in this chunk.
   */
  next(chunk: Buffer, from: number): number {
    let at = from;
    for (;;) {
      const lineEnd = endOfLine(chunk, at);
      if (lineEnd === -1) {
        if (at < chunk.length) this.#lineIsEmpty = false;
        return -1;
      }
      const isEmpty = lineEnd === at && this.#lineIsEmpty;
      this.#lineIsEmpty = true;
      at = lineEnd + 1;
      if (chunk[lineEnd] === CR) {
        if (at === chunk.length) this.#afterCr = true;
        else if (chunk[at] === LF) at += 1;
      }
      if (isEmpty) return this.#skipEmptyLines(chunk, at);
    }
  }

  #skipEmptyLines(chunk: Buffer, from: number): number {
    let at = from;
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte !== LF && byte !== CR) return at;
      this.#afterCr = byte === CR && at + 1 === chunk.length;
    }
    return at;
  }
}

/**
 * Returns whether the bytes contain only the rest of the line at `from` and an empty line, which ends the event. The
 * most common kind of chunk does. Returns false for lines that end with a CR alone.
 */
export function endsEventAfterLine(bytes: Buffer, from: number): boolean {
  const lineEnd = endOfLine(bytes, from);
  // LF LF, or CR LF CR LF.
  if (lineEnd === -1 || bytes[lineEnd] === LF) return lineEnd === bytes.length - 2 && bytes[lineEnd + 1] === LF;
  if (lineEnd !== bytes.length - 4) return false;
  return bytes[lineEnd + 1] === LF && bytes[lineEnd + 2] === CR && bytes[lineEnd + 3] === LF;
}

/**
 * Returns whether the bytes at `from` start with the prefix. For so few bytes, a loop is faster
 * than a native call.
 */
export function startsWith(bytes: Buffer, from: number, prefix: Buffer): boolean {
  if (bytes.length - from < prefix.length) return false;
  for (let at = 0; at < prefix.length; at += 1) if (bytes[from + at] !== prefix[at]) return false;
  return true;
}

const dataField = Buffer.from('data');

/** Finds the values of an event's `data` lines, without the space after the colon. Ignores lines without a colon. */
export function dataRanges(event: Buffer): Span[] {
  const ranges: Span[] = [];
  let at = 0;
  while (at < event.length) {
    const found = endOfLine(event, at);
    const lineEnd = found === -1 ? event.length : found;
    // Skips a byte order mark before the first line.
    const start = at === 0 && event[0] === 0xef && event[1] === 0xbb && event[2] === 0xbf ? 3 : at;
    if (event[start + 4] === 0x3a && startsWith(event, start, dataField)) {
      const value = start + 5;
      ranges.push({ start: event[value] === SPACE ? value + 1 : value, end: lineEnd });
    }
    at = lineEnd + 1;
  }
  return ranges;
}

/**
 * Joins the values of an event's `data` lines. Copies them into one buffer, because an event may have millions of
 * lines.
 * @param ranges the ranges of the values, from {@link dataRanges}.
 * @returns the values, with a line feed after each one.
 */
export function dataOf(event: Buffer, ranges: readonly Span[]): Buffer {
  let length = 0;
  for (const { start, end } of ranges) length += end - start + 1;
  const data = Buffer.allocUnsafe(length);
  let at = 0;
  for (const { start, end } of ranges) {
    at += event.copy(data, at, start, end);
    data[at] = LF;
    at += 1;
  }
  return data;
}
