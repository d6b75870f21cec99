/**
 * Reads an object from its end, to find a member after a very long one without reading the long
 * one.
 */
import type { Span } from './navigate.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Finds a member of an object by reading backwards from the closing brace. In an embeddings answer,
 * `model` and `usage` follow `data`, which may be 10 MB of numbers.
 *
 * Reading backwards is as reliable as reading forwards: the end of the text is outside of strings,
 * and a quote closes a string. The nearest earlier quote that directly follows zero or another even
 * number of backslashes opens that string. Limit: if the end of the text is missing and the rest
 * ends with an inner object, the function reads that object.
 * @param bytes the end of the text; the beginning may be missing.
 * @param name ASCII; a name that is spelled with escapes is not found.
 * @returns position of the value in `bytes`; undefined if the member is not in `bytes`, if it has no
 * value, or if `bytes` do not end with an object.
 */
export function findLastMember(bytes: Buffer, name: string): Span | undefined {
  let i = spaceBefore(bytes, bytes.length);
  if (bytes[i - 1] !== 0x7d) return undefined;
  i--;
  let depth = 1;
  /** End of the value that is being skipped, at depth 1. */
  let valueEnd = spaceBefore(bytes, i);
  while (i > 0) {
    const byte = bytes[i - 1] ?? 0;
    if (byte === QUOTE) {
      i = stringStart(bytes, i);
      if (i === -1) return undefined;
      continue;
    }
    if (byte === 0x7d || byte === 0x5d) depth++;
    else if (byte === 0x7b || byte === 0x5b) {
      depth--;
      if (depth === 0) return undefined;
    } else if (depth === 1) {
      if (byte === 0x2c) valueEnd = spaceBefore(bytes, i - 1);
      else if (byte === 0x3a) {
        const keyEnd = spaceBefore(bytes, i - 1);
        const keyStart = bytes[keyEnd - 1] === QUOTE ? stringStart(bytes, keyEnd) : -1;
        if (keyStart === -1) return undefined;
        if (bytes.toString('latin1', keyStart + 1, keyEnd - 1) === name) {
          const start = spaceAfter(bytes, i);
          return start < valueEnd ? { start, end: valueEnd } : undefined;
        }
        i = keyStart;
        continue;
      }
    }
    i--;
  }
  return undefined;
}

/**
 * Finds the quote that opens a string.
 * @param stringEnd the position after the closing quote.
 * @returns position of the opening quote; -1 if it lies before these bytes, or if that cannot be
 * excluded.
 */
function stringStart(bytes: Buffer, stringEnd: number): number {
  let i = stringEnd - 1;
  for (;;) {
    i = i === 0 ? -1 : bytes.lastIndexOf(QUOTE, i - 1);
    if (i === -1) return -1;
    let backslashes = 0;
    while (i - 1 - backslashes >= 0 && bytes[i - 1 - backslashes] === BACKSLASH) backslashes++;
    // The backslashes reach the first byte: more of them may precede it, so their parity is
    // unknown.
    if (backslashes === i) return -1;
    if ((backslashes & 1) === 0) return i;
  }
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

function spaceBefore(bytes: Buffer, from: number): number {
  let i = from;
  while (i > 0 && isSpace(bytes[i - 1])) i--;
  return i;
}

function spaceAfter(bytes: Buffer, from: number): number {
  let i = from;
  while (i < bytes.length && isSpace(bytes[i])) i++;
  return i;
}
