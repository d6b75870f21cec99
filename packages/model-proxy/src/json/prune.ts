/**
 * Removes members and elements at any depth of a JSON value in one pass: time is linear in the size
 * of the value.
 */
import { skipSpace, skipString, skipValue } from './navigate.js';
import type { JsonEdit } from './object.js';
import { spliceChunks } from './splice.js';

/**
 * The decision about a member or element: remove it, leave it unread, or visit its members with a
 * new context.
 */
type Decision<Context> = 'remove' | 'keep' | { readonly within: Context };

/**
 * A callback that decides about each member and element of the visited values.
 * @param key a member's name with escapes resolved, or an element's index.
 * @param valueStart where the value begins in the bytes.
 */
type Chooser<Context> = (context: Context, key: string | number, valueStart: number) => Decision<Context>;

/**
 * Removes what `choose` selects, with the commas that belong to it. All other bytes are unchanged.
 * @param value a complete, verified JSON value without surrounding text, within the scanner's depth
 * limit, because this function calls itself for each level.
 * @param context passed to `choose` for the members of the value itself.
 * @returns the same buffer if nothing is removed.
 */
export function prune<Context>(value: Buffer, context: Context, choose: Chooser<Context>): Buffer {
  const edits: JsonEdit[] = [];
  visit({ bytes: value, choose, edits }, 0, context);
  return edits.length === 0 ? value : Buffer.concat(spliceChunks([value], value.length, edits));
}

interface Visit<Context> {
  readonly bytes: Buffer;
  readonly choose: Chooser<Context>;
  readonly edits: JsonEdit[];
}

/**
 * Visits a value and collects edits.
 * @returns the position after the value; -1 if the bytes are not JSON.
 */
function visit<Context>(pruning: Visit<Context>, at: number, context: Context): number {
  const { bytes, choose, edits } = pruning;
  const end = bytes.length;
  const isObject = bytes[at] === 0x7b;
  if (!isObject && bytes[at] !== 0x5b) return skipValue(bytes, at, end);

  let index = 0;
  /** End of the last remaining member or element; -1 if none remains so far. */
  let lastEnd = -1;
  /** The run of removed members or elements after `lastEnd`; -1 if there is none. */
  let runStart = -1;
  let runEnd = -1;
  let i = skipSpace(bytes, at + 1, end);
  if (bytes[i] === (isObject ? 0x7d : 0x5d)) return i + 1;
  for (;;) {
    const start = i;
    let key: string | number = index++;
    if (isObject) {
      const keyEnd = skipString(bytes, i, end);
      if (bytes[i] !== 0x22 || keyEnd === -1) return -1;
      key = nameOf(bytes, i, keyEnd);
      i = skipSpace(bytes, keyEnd, end);
      if (bytes[i] !== 0x3a) return -1;
      i = skipSpace(bytes, i + 1, end);
    }
    const decision = choose(context, key, i);
    i = typeof decision === 'string' ? skipValue(bytes, i, end) : visit(pruning, i, decision.within);
    if (i === -1) return -1;

    if (decision === 'remove') {
      if (runStart === -1) runStart = lastEnd === -1 ? start : lastEnd;
      runEnd = i;
    } else {
      // Removes a run together with the comma before it; at the beginning of the list, with the
      // comma after it.
      if (runStart !== -1) edits.push({ start: runStart, end: lastEnd === -1 ? start : runEnd, replacement: nothing });
      runStart = -1;
      lastEnd = i;
    }
    i = skipSpace(bytes, i, end);
    if (bytes[i] === 0x2c) {
      i = skipSpace(bytes, i + 1, end);
      continue;
    }
    if (runStart !== -1) edits.push({ start: runStart, end: runEnd, replacement: nothing });
    return i < end ? i + 1 : -1;
  }
}

const nothing = Buffer.alloc(0);

/**
 * Decodes a member's name.
 * @param start position of the opening quote.
 * @param end position after the closing quote.
 */
function nameOf(bytes: Buffer, start: number, end: number): string {
  const name = bytes.toString('utf8', start + 1, end - 1);
  return name.includes('\\') ? String(JSON.parse(`"${name}"`)) : name;
}
