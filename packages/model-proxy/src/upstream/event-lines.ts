/** Where the events of a stream end, and what is data in them. @see https://html.spec.whatwg.org/multipage/server-sent-events.html */
import type { Span } from '../json/navigate.js';

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;

/** From here on a native search is faster than a loop. */
const NEARBY = 512;

/** Where the line that `from` stands in ends: its LF or CR; -1: not in these bytes. */
export function endOfLine(bytes: Buffer, from: number): number {
  const nearby = Math.min(bytes.length, from + NEARBY);
  for (let at = from; at < nearby; at += 1) {
    const byte = bytes[at];
    if (byte === LF || byte === CR) return at;
  }
  if (nearby === bytes.length) return -1;
  const lf = bytes.indexOf(LF, nearby);
  const cr = (lf === -1 ? bytes : bytes.subarray(0, lf)).indexOf(CR, nearby);
  return cr === -1 ? lf : cr;
}

/** Finds the ends of events in a stream that is cut anywhere. Lines end with LF, CRLF or CR; an event ends with an empty line. */
export class EventEnds {
  /** Nothing of the present line has come yet. */
  #lineIsEmpty = true;
  /** The last byte was a CR: an LF that follows belongs to it. */
  #afterCr = false;

  /** Whether the next byte begins an event, for certain. */
  get atStart(): boolean {
    return this.#lineIsEmpty && !this.#afterCr;
  }

  /** To be called once for each chunk, before {@link next}. @returns bytes that still belong to the end of the last line: 0 or 1. */
  begin(chunk: Buffer): number {
    if (!this.#afterCr || chunk.length === 0) return 0;
    this.#afterCr = false;
    return chunk[0] === LF ? 1 : 0;
  }

  /**
   * The byte behind the empty line that ends the present event; -1: it does not end in this chunk.
   * @param from the byte behind the last end, or what {@link begin} gave.
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
      if (isEmpty) return at;
    }
  }
}

/**
 * Whether an event whose first line goes on at `from` ends with that line and with the bytes.
 * The commonest chunk by far: one event of one line, sent by itself.
 */
export function endsWithLine(bytes: Buffer, from: number): boolean {
  const lineEnd = endOfLine(bytes, from);
  // LF LF, or CR LF CR LF.
  if (lineEnd === -1 || bytes[lineEnd] === LF) return lineEnd === bytes.length - 2 && bytes[lineEnd + 1] === LF;
  if (lineEnd !== bytes.length - 4) return false;
  return bytes[lineEnd + 1] === LF && bytes[lineEnd + 2] === CR && bytes[lineEnd + 3] === LF;
}

/** Whether the bytes at `from` are those of the prefix. A loop: so few bytes are compared before a native call has begun. */
export function startsWith(bytes: Buffer, from: number, prefix: Buffer): boolean {
  if (bytes.length - from < prefix.length) return false;
  for (let at = 0; at < prefix.length; at += 1) if (bytes[from + at] !== prefix[at]) return false;
  return true;
}

const dataField = Buffer.from('data');

/** The values of an event's `data` lines. */
export function dataRanges(event: Buffer): Span[] {
  const ranges: Span[] = [];
  let at = 0;
  while (at < event.length) {
    const found = endOfLine(event, at);
    const lineEnd = found === -1 ? event.length : found;
    // A byte order mark before the first line is no part of it.
    const start = at === 0 && event[0] === 0xef && event[1] === 0xbb && event[2] === 0xbf ? 3 : at;
    if (event[start + 4] === 0x3a && startsWith(event, start, dataField)) {
      const value = start + 5;
      ranges.push({ start: event[value] === SPACE ? value + 1 : value, end: lineEnd });
    }
    at = lineEnd + 1;
  }
  return ranges;
}
