/**
 * Verifies a small JSON object and finds members of it in one pass. For an answer of 1 KB, this takes a third of the
 * time of `JSON.parse` and a search for the members.
 */
import { isSpelled, skipSpace, type Span } from './navigate.js';
import { plainRuns } from './plain-run.js';
import type { PlainRuns } from './plain-run-words.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Bytes of a string that are read one by one. A call of the search for the end of a string costs as much as these. */
const NEARBY = 24;
/** Deeper objects are not verified. Each level is a call; answers of models have some dozens at most. */
const MAX_DEPTH = 64;

/** The value of the first member of each path; undefined: the object has no such member. */
export type FoundMembers = readonly (Span | undefined)[];

/**
 * Verifies an object (RFC 8259), and finds the first member of each path in the outermost object. If a name occurs
 * twice, the last member counts, as with `JSON.parse`. A name that is spelled with escapes is not found.
 * @param bytes the whole text. It is not checked for UTF-8.
 * @param paths one or more ASCII names each.
 * @returns null: the text is not an object, or is nested too deeply. Then, only `JSON.parse` knows whether it is JSON.
 */
export function verifiedMembers(bytes: Buffer, paths: readonly (readonly string[])[]): FoundMembers | null {
  const verifier = new Verifier(bytes, paths);
  const end = bytes.length;
  const start = skipSpace(bytes, 0, end);
  if (start === end || bytes[start] !== OPEN_BRACE) return null;
  const after = verifier.object(start + 1, 1);
  return after !== -1 && skipSpace(bytes, after, end) === end ? verifier.found : null;
}

/** Each method gets the position of a part of the text, and returns the position after it; -1: it is not valid. */
class Verifier {
  readonly found: (Span | undefined)[];
  readonly #bytes: Buffer;
  readonly #end: number;
  readonly #paths: readonly (readonly string[])[];
  #runs: PlainRuns | null = null;

  constructor(bytes: Buffer, paths: readonly (readonly string[])[]) {
    this.#bytes = bytes;
    this.#end = bytes.length;
    this.#paths = paths;
    this.found = paths.map(() => undefined);
  }

  /** @param from after the opening brace. @param depth number of open objects and arrays, with this one. */
  object(from: number, depth: number): number {
    if (depth > MAX_DEPTH) return -1;
    let i = this.#skip(from);
    if (this.#at(i) === CLOSE_BRACE) return i + 1;
    for (;;) {
      if (this.#at(i) !== QUOTE) return -1;
      const keyStart = i + 1;
      const keyEnd = this.#string(keyStart);
      if (keyEnd === -1) return -1;
      i = this.#skip(keyEnd);
      if (this.#at(i) !== COLON) return -1;
      const valueStart = this.#skip(i + 1);
      const valueEnd = this.#value(valueStart, depth);
      if (valueEnd === -1) return -1;
      if (depth === 1) this.#note(keyStart, keyEnd - 1, { start: valueStart, end: valueEnd });
      i = this.#skip(valueEnd);
      const next = this.#at(i);
      if (next === CLOSE_BRACE) return i + 1;
      if (next !== COMMA) return -1;
      i = this.#skip(i + 1);
    }
  }

  #array(from: number, depth: number): number {
    if (depth > MAX_DEPTH) return -1;
    let i = this.#skip(from);
    if (this.#at(i) === CLOSE_BRACKET) return i + 1;
    for (;;) {
      i = this.#value(i, depth);
      if (i === -1) return -1;
      i = this.#skip(i);
      const next = this.#at(i);
      if (next === CLOSE_BRACKET) return i + 1;
      if (next !== COMMA) return -1;
      i = this.#skip(i + 1);
    }
  }

  #value(at: number, depth: number): number {
    switch (this.#at(at)) {
      case QUOTE:
        return this.#string(at + 1);
      case OPEN_BRACE:
        return this.object(at + 1, depth + 1);
      case OPEN_BRACKET:
        return this.#array(at + 1, depth + 1);
      case 0x74:
        return this.#literal(at, literals.true);
      case 0x66:
        return this.#literal(at, literals.false);
      case 0x6e:
        return this.#literal(at, literals.null);
      default:
        return this.#number(at);
    }
  }

  /** @param from after the opening quote. @returns the position after the closing quote. */
  #string(from: number): number {
    const bytes = this.#bytes;
    const nearby = Math.min(this.#end, from + NEARBY);
    for (let i = from; i < nearby; i += 1) {
      const byte = bytes[i] ?? 0;
      if (byte === QUOTE) return i + 1;
      if (byte < 0x20) return -1;
      if (byte === BACKSLASH) return this.#longString(i);
    }
    return this.#longString(nearby);
  }

  /** Skips the rest of a long string, or of a string with escapes. @param from outside of escapes. */
  #longString(from: number): number {
    const end = (this.#runs ??= plainRuns(this.#bytes)).endFrom(from);
    // Another byte is a control character, or begins an invalid escape.
    return this.#at(end) === QUOTE ? end + 1 : -1;
  }

  #literal(at: number, literal: Buffer): number {
    for (let index = 1; index < literal.length; index += 1) if (this.#at(at + index) !== literal[index]) return -1;
    return at + literal.length;
  }

  #number(at: number): number {
    let i = this.#at(at) === MINUS ? at + 1 : at;
    i = this.#at(i) === ZERO ? i + 1 : this.#digits(i);
    if (i !== -1 && this.#at(i) === POINT) i = this.#digits(i + 1);
    if (i === -1 || (this.#at(i) | 0x20) !== 0x65) return i;
    const sign = this.#at(i + 1);
    return this.#digits(sign === 0x2b || sign === MINUS ? i + 2 : i + 1);
  }

  /** Skips one digit or more. */
  #digits(at: number): number {
    let i = at;
    while (this.#at(i) >= ZERO && this.#at(i) <= 0x39) i += 1;
    return i === at ? -1 : i;
  }

  #note(keyStart: number, keyEnd: number, value: Span): void {
    const paths = this.#paths;
    for (let index = 0; index < paths.length; index += 1)
      if (isSpelled(this.#bytes, keyStart, keyEnd, paths[index]?.[0] ?? '')) this.found[index] = value;
  }

  #skip(from: number): number {
    return skipSpace(this.#bytes, from, this.#end);
  }

  /** Returns a byte; 0, which no JSON has, after the end. */
  #at(position: number): number {
    return position < this.#end ? (this.#bytes[position] ?? 0) : 0;
  }
}

const literals = { true: Buffer.from('true'), false: Buffer.from('false'), null: Buffer.from('null') };
