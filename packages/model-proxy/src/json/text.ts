/** Reads parts of a text that is stored in several chunks. */
import type { JsonMember, JsonObject } from './object.js';

/**
 * Returns the bytes from `start` to `end`: a view if they lie in one chunk, otherwise a copy.
 * @param length total bytes of all chunks. With it, a range in the last chunk is found without
 * visiting the others.
 */
export function bytesBetween(chunks: readonly Buffer[], length: number, start: number, end: number): Buffer {
  const last = chunks[chunks.length - 1];
  if (last === undefined || start >= end) return Buffer.alloc(0);
  const lastStart = length - last.length;
  if (start >= lastStart) return last.subarray(start - lastStart, end - lastStart);
  const pieces = piecesBetween(chunks, start, end);
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces);
}

/** Returns the bytes from `start` to `end` as views, in order. No view is empty. */
export function piecesBetween(chunks: readonly Buffer[], start: number, end: number): Buffer[] {
  const pieces: Buffer[] = [];
  let chunkStart = 0;
  for (const chunk of chunks) {
    if (chunkStart >= end) break;
    const chunkEnd = chunkStart + chunk.length;
    if (chunkEnd > start && chunk.length > 0) {
      const from = Math.max(start - chunkStart, 0);
      const to = Math.min(end, chunkEnd) - chunkStart;
      if (to > from) pieces.push(from === 0 && to === chunk.length ? chunk : chunk.subarray(from, to));
    }
    chunkStart = chunkEnd;
  }
  return pieces;
}

/** Returns the text from `start` to `end`, as {@link bytesBetween}. */
export function textBetween(chunks: readonly Buffer[], length: number, start: number, end: number): string {
  const last = chunks[chunks.length - 1];
  const lastStart = length - (last?.length ?? 0);
  // Most texts are one chunk: no view is needed then.
  if (last !== undefined && start >= lastStart) return last.toString('utf8', start - lastStart, end - lastStart);
  return bytesBetween(chunks, length, start, end).toString();
}

/**
 * Returns the text of a member's value as it is spelled, for example `"gpt-4o"` including the
 * quotes.
 */
export function spelledText({ chunks, length }: JsonObject, { valueStart, valueEnd }: JsonMember): string {
  return textBetween(chunks, length, valueStart, valueEnd);
}

/** Parses the value of one member with `JSON.parse`. */
export function valueOf(object: JsonObject, member: JsonMember): unknown {
  return JSON.parse(spelledText(object, member));
}

/**
 * Returns whether a key differs from a name only in letter case. Go's `encoding/json` accepts such
 * a key as the name, and uses the last of several.
 * @param name lower case.
 */
export function isInOtherCase(key: string, name: string): boolean {
  return key.length === name.length && key !== name && key.toLowerCase() === name;
}

/**
 * Returns the last member with a name, as `JSON.parse` does; undefined: there is none. Other JSON
 * parsers may use another duplicate, or read an escaped name differently. Check for these cases if
 * the upstream must read the same value.
 */
export function memberNamed(object: JsonObject, key: string): JsonMember | undefined {
  const { members } = object;
  // `findLast` with a function takes three times as long, and each request looks for some dozen names.
  for (let index = members.length - 1; index >= 0; index -= 1) {
    const member = members[index];
    if (member?.key === key) return member;
  }
  return undefined;
}
