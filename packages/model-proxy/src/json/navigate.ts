/**
 * Finds members, elements and values in JSON text, and skips the rest without parsing it. The text
 * is part of a request that the scanner has verified, or an answer, which is not verified. For text
 * that is not JSON, these functions return -1 or undefined, or skip a malformed part without
 * notice. They never throw, and never use bytes beyond `end`.
 */
import type { JsonMember } from './object.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;

/**
 * Bytes of a string to read in a loop before `indexOf` takes over: calling `indexOf` costs as much
 * as these bytes.
 */
const NEARBY = 32;

/**
 * Maximum lengths of the returned lists: an entry takes 100 times the memory of an element in
 * `1,1,1`.
 */
const MAX_MEMBERS = 10_000;
const MAX_ELEMENTS = 100_000;

/** A range of bytes: `start` inclusive, `end` exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** Returns the position of the first byte that is not white space; `end` if there is none. */
export function skipSpace(bytes: Buffer, from: number, end: number): number {
  let i = from;
  for (; i < end; i++) {
    const byte = bytes[i] ?? 0;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
  }
  return i;
}

/**
 * Skips a string.
 * @param at position of the opening quote.
 * @returns the position after the closing quote; -1 if the string does not end before `end`.
 */
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
    // The escapes before `i` are complete. Only backslashes from `i` on can escape the quote.
    const from = i;
    i = bytes.indexOf(QUOTE, i);
    if (i === -1 || i >= end) return -1;
    let backslashes = 0;
    while (i - 1 - backslashes >= from && bytes[i - 1 - backslashes] === BACKSLASH) backslashes++;
    i++;
    if ((backslashes & 1) === 0) return i;
  }
}

/**
 * Skips a value of any type.
 * @param at position of its first byte.
 * @returns the position after the value; -1 if there is no value at `at`, or if a string, object or list does not
 *   end before `end`. A number or literal ends at `end` at the latest.
 */
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
    // Does not distinguish { and [: in well-formed text the closing brackets match.
    if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) {
      depth--;
      if (depth === 0) return i;
    }
  }
  return -1;
}

/**
 * Lists the members of an object, with offsets in `bytes`.
 * @param at position of the opening brace.
 * @returns undefined if the bytes are not a complete object, or if it has more than 10,000 members.
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
    if (members.length === MAX_MEMBERS) return undefined;
    members.push({ key, escaped, keyStart, valueStart, valueEnd });
    i = skipSpace(bytes, valueEnd, end);
    if (i >= end) return undefined;
    if (bytes[i] === 0x7d) return members;
    if (bytes[i] !== COMMA) return undefined;
    i = skipSpace(bytes, i + 1, end);
  }
}

/**
 * Lists the elements of an array.
 * @param at position of the opening bracket.
 * @returns undefined if the bytes are not a complete array, or if it has more than 100,000
 * elements.
 */
export function arrayElements(bytes: Buffer, at: number, end: number): Span[] | undefined {
  if (at >= end || bytes[at] !== 0x5b) return undefined;
  const elements: Span[] = [];
  let i = skipSpace(bytes, at + 1, end);
  if (i < end && bytes[i] === 0x5d) return elements;
  for (;;) {
    const valueEnd = skipValue(bytes, i, end);
    if (valueEnd === -1) return undefined;
    if (elements.length === MAX_ELEMENTS) return undefined;
    elements.push({ start: i, end: valueEnd });
    i = skipSpace(bytes, valueEnd, end);
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
    // The text is not a JSON string. The caller then returns undefined for the whole object.
    return undefined;
  }
}

/**
 * Finds the value at a path of member names, such as `['response', 'model']`. Other members are
 * skipped. If a name occurs twice, the last member counts, as with `JSON.parse`. A name that is
 * spelled with escapes is not found.
 * @param path ASCII names.
 * @param start where the object begins; white space may precede it.
 * @param end where readable bytes end. A value that reaches beyond is not found, nor a number or literal that ends
 *   there, because it may continue.
 */
export function findValue(buffer: Buffer, start: number, end: number, path: readonly string[]): Span | undefined {
  let i = skipSpace(buffer, start, end);
  for (const name of path) {
    i = findMember(buffer, i, end, name);
    if (i === -1) return undefined;
  }
  const valueEnd = skipValue(buffer, i, end);
  // A number or literal that reaches `end` may continue after it.
  if (valueEnd === -1 || (valueEnd === end && !isClosed(buffer[end - 1] ?? 0))) return undefined;
  return { start: i, end: valueEnd };
}

function isClosed(last: number): boolean {
  return last === QUOTE || last === 0x7d || last === 0x5d;
}

/**
 * Finds the last member with a name, in malformed text the last one before the fault.
 * @param at position of the object's opening brace.
 * @returns where the member's value begins; -1 if there is no such member.
 */
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
      // Fast path: the name does not occur again, so the rest need not be read.
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

/**
 * Finds a name in quotes, as the key of any object or as a string value.
 * @param name ASCII. Its quoted form is cached forever, so only pass literals.
 * @returns position of the opening quote; -1 if there is none.
 */
export function nextKey(bytes: Buffer, from: number, end: number, name: string): number {
  let quoted = quotedNames.get(name);
  if (quoted === undefined) {
    quoted = Buffer.from(`"${name}"`);
    quotedNames.set(name, quoted);
  }
  const at = bytes.indexOf(quoted, from);
  return at + quoted.length > end ? -1 : at;
}

/** Returns whether the bytes from `start` to `end` are a name in ASCII. */
export function isSpelled(bytes: Buffer, start: number, end: number, name: string): boolean {
  if (end - start !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (bytes[start + i] !== name.charCodeAt(i)) return false;
  return true;
}
