/** Parts of a text that lies in several chunks. */
import type { JsonMember, JsonObject } from './object.js';

/**
 * The bytes from `start` up to `end`: a view where they lie in one chunk, a copy where they do not.
 * @param length bytes of all chunks; a part of the last chunk is found without walking through the others.
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

/** The bytes from `start` up to `end` as views, in order, none of them empty. */
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

/** The text of one member's value, as it was spelled: `"gpt-4o"` with its quotes. */
export function textOf({ chunks, length }: JsonObject, { valueStart, valueEnd }: JsonMember): string {
  // Most requests are one chunk: no view has to be made of it then.
  const [only, second] = chunks;
  if (only !== undefined && second === undefined) return only.toString('utf8', valueStart, valueEnd);
  return bytesBetween(chunks, length, valueStart, valueEnd).toString();
}

/** One member's value, parsed; nothing else of the object is. Costs what `JSON.parse` costs for that value. */
export function valueOf(object: JsonObject, member: JsonMember): unknown {
  return JSON.parse(textOf(object, member));
}

/**
 * Whether a key is a name in another case: to Go's `encoding/json` both are that name, and the last one counts.
 * @param name lower case.
 */
export function isInOtherCase(key: string, name: string): boolean {
  return key.length === name.length && key !== name && key.toLowerCase() === name;
}

/**
 * The last member of that name, which is the one that `JSON.parse` takes. Whether there is a second one, or one whose name is spelled
 * with escapes, is for the caller to ask: other readers may take another than this.
 */
export function memberNamed(object: JsonObject, key: string): JsonMember | undefined {
  return object.members.findLast((member) => member.key === key);
}
