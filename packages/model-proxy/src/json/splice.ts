/** Edits a JSON text without changing any other byte. */
import type { JsonEdit, JsonMember, JsonObject } from './object.js';

/**
 * Applies edits to an object's text. The result contains views of the received chunks, with the
 * replacements between them.
 * @param edits in any order; they must not overlap. Insertions at the same position keep their
 * order.
 * @throws {RangeError} if two edits overlap or an edit lies outside of the text.
 */
export function spliceJson(object: Pick<JsonObject, 'chunks' | 'length'>, edits: readonly JsonEdit[]): Buffer[] {
  return spliceChunks(object.chunks, object.length, edits);
}

/** Applies edits to any bytes, as {@link spliceJson} does. */
export function spliceChunks(chunks: readonly Buffer[], length: number, edits: readonly JsonEdit[]): Buffer[] {
  const [first] = edits;
  if (first === undefined) return [...chunks];
  const sorted = edits.length === 1 ? edits : [...edits].sort((a, b) => a.start - b.start || a.end - b.end);

  const spliced: Buffer[] = [];
  let chunkIndex = 0;
  let chunkStart = 0;
  let at = 0;
  /** Copies or drops the bytes up to an offset. */
  const advance = (to: number, keep: boolean): void => {
    while (at < to) {
      const chunk = chunks[chunkIndex];
      if (chunk === undefined) throw new RangeError(`an edit reaches to byte ${to} of ${length}`);
      const chunkEnd = chunkStart + chunk.length;
      const stop = Math.min(to, chunkEnd);
      if (keep && stop > at) {
        const whole = at === chunkStart && stop === chunkEnd;
        spliced.push(whole ? chunk : chunk.subarray(at - chunkStart, stop - chunkStart));
      }
      at = stop;
      if (stop === chunkEnd) {
        chunkStart = chunkEnd;
        chunkIndex++;
      }
    }
  };
  for (const edit of sorted) {
    if (edit.start < at || edit.end < edit.start) throw new RangeError(`two edits overlap at byte ${edit.start}`);
    advance(edit.start, true);
    if (edit.replacement.length > 0) spliced.push(edit.replacement);
    advance(edit.end, false);
  }
  advance(length, true);
  return spliced;
}

/** Changes of an object's members. */
export interface MemberChanges {
  /** Members to remove, with their commas. */
  readonly removed?: ReadonlySet<JsonMember>;
  /** New values as JSON text. A member that is also in `removed` is removed. */
  readonly replaced?: ReadonlyMap<JsonMember, string | Buffer>;
  /**
   * Members to add after the last member: name and JSON text. The caller makes sure that no member
   * has that name.
   */
  readonly added?: readonly (readonly [key: string, text: string | Buffer])[];
}

/**
 * Makes the edits for the given changes. The edited text has exactly one comma between any two members.
 */
export function memberEdits(object: Pick<JsonObject, 'members' | 'start'>, changes: MemberChanges): JsonEdit[] {
  const members = object.members;
  const removed = changes.removed ?? nothingRemoved;
  const edits: JsonEdit[] = [];
  let remaining = 0;
  for (let i = 0; i < members.length; i++) {
    const member = members[i];
    if (member === undefined) break;
    if (!removed.has(member)) {
      remaining++;
      const text = changes.replaced?.get(member);
      if (text !== undefined) {
        const replacement = typeof text === 'string' ? Buffer.from(text) : text;
        edits.push({ start: member.valueStart, end: member.valueEnd, replacement });
      }
      continue;
    }
    // Removes a run together with the comma before it; at the beginning of the object, with the
    // comma after it.
    const runStart = i;
    while (i + 1 < members.length && removed.has(members[i + 1] ?? member)) i++;
    const before = members[runStart - 1];
    const after = members[i + 1];
    const last = members[i] ?? member;
    if (before !== undefined) edits.push({ start: before.valueEnd, end: last.valueEnd, replacement: nothing });
    else edits.push({ start: member.keyStart, end: after?.keyStart ?? last.valueEnd, replacement: nothing });
  }

  const added = changes.added ?? [];
  if (added.length === 0) return edits;
  const place = members[members.length - 1]?.valueEnd ?? object.start + 1;
  const pieces: Buffer[] = [];
  let text = '';
  for (const [key, value] of added) {
    text += `${pieces.length > 0 || text !== '' || remaining > 0 ? ',' : ''}${JSON.stringify(key)}:`;
    if (typeof value === 'string') {
      text += value;
      continue;
    }
    pieces.push(Buffer.from(text), value);
    text = '';
  }
  if (text !== '') pieces.push(Buffer.from(text));
  const [only] = pieces;
  edits.push({ start: place, end: place, replacement: pieces.length === 1 && only ? only : Buffer.concat(pieces) });
  return edits;
}

const nothing = Buffer.alloc(0);
const nothingRemoved: ReadonlySet<JsonMember> = new Set();

/** Writes members as a JSON object. */
export function membersText(members: ReadonlyMap<string, Buffer>): Buffer[] {
  const pieces = [...members].flatMap(([name, value], index) => [
    Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`),
    value,
  ]);
  return [...pieces, Buffer.from(members.size === 0 ? '{}' : '}')];
}
