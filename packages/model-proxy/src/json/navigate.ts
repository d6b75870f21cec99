/**
 * Finding one's way in JSON without reading what is passed by: for parts of requests that the scanner has verified, and for answers,
 * which nobody verifies. Where a text is no JSON these functions give up (-1, undefined) or pass something by that is none; they
 * never throw and never read beyond the end. Nothing is allocated but what is returned.
 */
import type { JsonMember } from './object.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Strings are read by bytes this far, and from there on by `indexOf`, a call of which costs as much. */
const NEARBY = 32;

/** Lists that are longer are not listed: each entry takes memory of ours, a hundred times its own size for `1,1,1`. */
const MAXIMUM_MEMBERS = 10_000;
const MAXIMUM_ELEMENTS = 100_000;

/** From where something stands, up to the byte behind it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** The first byte that is no white space. */
export function skipSpace(bytes: Buffer, from: number, end: number): number {
  let i = from;
  for (; i < end; i++) {
    const byte = bytes[i] ?? 0;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
  }
  return i;
}

/** @param at its opening quote. @returns the byte behind its closing one; -1: there is none. */
export function skipString(bytes: Buffer, at: number, end: number): number {
  let i = at + 1;
  for (;;) {
    const nearby = Math.min(end, i + NEARBY);
    for (; i < nearby; i++) {
      const byte = bytes[i] ?? 0;
      if (byte === QUOTE) return i + 1;
      if (byte === BACKSLASH) i++;
    }
    if (i >= end) return -1;
    // Backslashes before this place are whole escapes: only those behind it belong to the quote that is found.
    const from = i;
    i = bytes.indexOf(QUOTE, i);
    if (i === -1 || i >= end) return -1;
    let backslashes = 0;
    while (i - 1 - backslashes >= from && bytes[i - 1 - backslashes] === BACKSLASH) backslashes++;
    i++;
    if ((backslashes & 1) === 0) return i;
  }
}

/** @param at its first byte. @returns the byte behind it; -1: it does not end. */
export function skipValue(bytes: Buffer, at: number, end: number): number {
  const first = bytes[at] ?? 0;
  if (at >= end) return -1;
  if (first === QUOTE) return skipString(bytes, at, end);
  if (first !== 0x7b && first !== 0x5b) {
    let i = at;
    for (; i < end; i++) {
      const byte = bytes[i] ?? 0;
      if (byte <= 0x20 || byte === COMMA || byte === 0x7d || byte === 0x5d) break;
    }
    return i === at ? -1 : i;
  }
  let depth = 0;
  let i = at;
  while (i < end) {
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE) {
      i = skipString(bytes, i, end);
      if (i === -1) return -1;
      continue;
    }
    i++;
    // { and [ differ from } and ] by two; nothing else outside of strings looks like them.
    if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) {
      depth--;
      if (depth === 0) return i;
    }
  }
  return -1;
}

/**
 * The members of an object.
 * @param at its opening brace.
 * @returns offsets in `bytes`; undefined: it is no object, not a whole one, or one of more than 10,000 members.
 */
export function objectMembers(bytes: Buffer, at: number, end: number): JsonMember[] | undefined {
  if (at >= end || bytes[at] !== 0x7b) return undefined;
  const members: JsonMember[] = [];
  let i = skipSpace(bytes, at + 1, end);
  if (i < end && bytes[i] === 0x7d) return members;
  for (;;) {
    if (i >= end || bytes[i] !== QUOTE) return undefined;
    const keyStart = i;
    const keyEnd = skipString(bytes, i, end);
    if (keyEnd === -1) return undefined;
    i = skipSpace(bytes, keyEnd, end);
    if (i >= end || bytes[i] !== COLON) return undefined;
    const valueStart = skipSpace(bytes, i + 1, end);
    const valueEnd = skipValue(bytes, valueStart, end);
    if (valueEnd === -1) return undefined;
    const spelled = bytes.toString('utf8', keyStart, keyEnd);
    const escaped = spelled.includes('\\');
    const key = escaped ? unescape(spelled) : spelled.slice(1, -1);
    if (key === undefined) return undefined;
    if (members.length === MAXIMUM_MEMBERS) return undefined;
    members.push({ key, escaped, keyStart, valueStart, valueEnd });
    i = skipSpace(bytes, valueEnd, end);
    if (i >= end) return undefined;
    if (bytes[i] === 0x7d) return members;
    if (bytes[i] !== COMMA) return undefined;
    i = skipSpace(bytes, i + 1, end);
  }
}

/**
 * The elements of an array.
 * @param at its opening bracket.
 * @returns undefined: it is no array, not a whole one, or one of more than 100,000 elements.
 */
export function arrayElements(bytes: Buffer, at: number, end: number): Span[] | undefined {
  if (at >= end || bytes[at] !== 0x5b) return undefined;
  const elements: Span[] = [];
  let i = skipSpace(bytes, at + 1, end);
  if (i < end && bytes[i] === 0x5d) return elements;
  for (;;) {
    const behind = skipValue(bytes, i, end);
    if (behind === -1) return undefined;
    if (elements.length === MAXIMUM_ELEMENTS) return undefined;
    elements.push({ start: i, end: behind });
    i = skipSpace(bytes, behind, end);
    if (i >= end) return undefined;
    if (bytes[i] === 0x5d) return elements;
    if (bytes[i] !== COMMA) return undefined;
    i = skipSpace(bytes, i + 1, end);
  }
}

function unescape(spelled: string): string | undefined {
  try {
    return String(JSON.parse(spelled));
  } catch {
    // No JSON: the caller gives up on the object.
    return undefined;
  }
}

/**
 * Where the value at a path of members lies: `['response', 'model']`. Members that are passed by are not read; the last of two wins, as
 * with `JSON.parse`. Names are compared as they are spelled: one with escapes is not found.
 * @param path ASCII names.
 * @param start where the object begins, white space before it included.
 * @param end the byte behind what may be read; a value that is cut there is not found.
 */
export function findValue(buffer: Buffer, start: number, end: number, path: readonly string[]): Span | undefined {
  let i = skipSpace(buffer, start, end);
  for (const name of path) {
    i = findMember(buffer, i, end, name);
    if (i === -1) return undefined;
  }
  const valueEnd = skipValue(buffer, i, end);
  // A number or a literal that reaches to the end may go on there.
  if (valueEnd === -1 || (valueEnd === end && !isClosed(buffer[end - 1] ?? 0))) return undefined;
  return { start: i, end: valueEnd };
}

function isClosed(last: number): boolean {
  return last === QUOTE || last === 0x7d || last === 0x5d;
}

/** @param at the object's opening brace. @returns where the last such member's value begins; -1: there is none. */
function findMember(bytes: Buffer, at: number, end: number, name: string): number {
  if (at >= end || bytes[at] !== 0x7b) return -1;
  let last = -1;
  let i = at + 1;
  for (;;) {
    i = skipSpace(bytes, i, end);
    if (i >= end || bytes[i] !== QUOTE) return last;
    const keyEnd = skipString(bytes, i, end);
    if (keyEnd === -1) return last;
    const found = isSpelled(bytes, i + 1, keyEnd - 1, name);
    i = skipSpace(bytes, keyEnd, end);
    if (i >= end || bytes[i] !== COLON) return last;
    i = skipSpace(bytes, i + 1, end);
    if (found && i < end) {
      last = i;
      // Nearly always: what stands behind need not be read then.
      if (nextKey(bytes, i, end, name) === -1) return last;
    }
    i = skipValue(bytes, i, end);
    if (i === -1) return last;
    i = skipSpace(bytes, i, end);
    if (i >= end || bytes[i] !== COMMA) return last;
    i++;
  }
}

const quotedNames = new Map<string, Buffer>();

/** @returns where the name stands in quotes, as a key of any object or as a text; -1: nowhere. @param name ASCII, one of a few. */
export function nextKey(bytes: Buffer, from: number, end: number, name: string): number {
  let quoted = quotedNames.get(name);
  if (quoted === undefined) {
    quoted = Buffer.from(`"${name}"`);
    quotedNames.set(name, quoted);
  }
  const at = bytes.indexOf(quoted, from);
  return at + quoted.length > end ? -1 : at;
}

function isSpelled(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name.charCodeAt(i)) return false;
  return true;
}
