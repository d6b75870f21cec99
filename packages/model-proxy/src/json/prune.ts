/** Taking members and elements out of a value, wherever in it they lie, in one pass: no depth and no number of them makes it slow. */
import { skipSpace, skipString, skipValue } from './navigate.js';
import type { JsonEdit } from './object.js';
import { spliceChunks } from './splice.js';

/** What becomes of a member or an element: it leaves, it stays unread, or it is looked into with a context of its own. */
export type Fate<Context> = 'remove' | 'keep' | { readonly within: Context };

/**
 * Asked for every member and element of what is looked into.
 * @param key the member's name, escapes resolved; the element's number.
 * @param valueStart where its value begins in the bytes.
 */
export type Chooser<Context> = (context: Context, key: string | number, valueStart: number) => Fate<Context>;

/**
 * A value without what is chosen, each with its comma; every other byte stays.
 * @param value one whole, verified JSON value: nothing behind it, nested no deeper than the scanner allows.
 * @param context of the value itself.
 * @returns the same buffer if nothing was chosen.
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

/** @returns the byte behind the value; -1: the bytes are no JSON. */
function visit<Context>(pruning: Visit<Context>, at: number, context: Context): number {
  const { bytes, choose, edits } = pruning;
  const end = bytes.length;
  const isObject = bytes[at] === 0x7b;
  if (!isObject && bytes[at] !== 0x5b) return skipValue(bytes, at, end);

  let index = 0;
  /** Where the last one that stays ends; -1: none has stayed yet. */
  let keptEnd = -1;
  /** The run of those that leave, since the last one that stays. */
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
    const fate = choose(context, key, i);
    i = typeof fate === 'string' ? skipValue(bytes, i, end) : visit(pruning, i, fate.within);
    if (i === -1) return -1;

    if (fate === 'remove') {
      if (runStart === -1) runStart = keptEnd === -1 ? start : keptEnd;
      runEnd = i;
    } else {
      // A run behind one that stays goes with the comma before it, a run at the front with the one behind it.
      if (runStart !== -1) edits.push({ start: runStart, end: keptEnd === -1 ? start : runEnd, replacement: nothing });
      runStart = -1;
      keptEnd = i;
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

/** @param start of the opening quote. @param end behind the closing one. */
function nameOf(bytes: Buffer, start: number, end: number): string {
  const name = bytes.toString('utf8', start + 1, end - 1);
  return name.includes('\\') ? String(JSON.parse(`"${name}"`)) : name;
}
