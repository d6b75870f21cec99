/** Reading an object from its end: what stands behind a long member is found without passing through it. */
import type { Span } from './navigate.js';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/**
 * Finds a member of an object by reading backwards from its closing brace: `model` and `usage` stand behind the `data` of embeddings,
 * ten megabytes of numbers. That is as certain as reading forwards: the end of a text is outside of its strings, a quote closes one, and the next
 * quote before it with no or an even number of backslashes opens it. A text that is cut just behind an inner object is taken for that one.
 * @param bytes the end of the text; its beginning may be missing.
 * @param name ASCII; a name spelled with escapes is not found.
 * @returns where the member's value lies in `bytes`; undefined: it is not in them, or this is no end of an object.
 */
export function findLastMember(bytes: Buffer, name: string): Span | undefined {
  let i = spaceBefore(bytes, bytes.length);
  if (bytes[i - 1] !== 0x7d) return undefined;
  i--;
  let depth = 1;
  /** The byte behind the value that is being passed by, at depth 1. */
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
          return { start: spaceBehind(bytes, i), end: valueEnd };
        }
        i = keyStart;
        continue;
      }
    }
    i--;
  }
  return undefined;
}

/** @param behind the byte behind the closing quote. @returns the opening one; -1: it does not lie in these bytes, or may not. */
function stringStart(bytes: Buffer, behind: number): number {
  let i = behind - 1;
  for (;;) {
    i = i === 0 ? -1 : bytes.lastIndexOf(QUOTE, i - 1);
    if (i === -1) return -1;
    let backslashes = 0;
    while (i - 1 - backslashes >= 0 && bytes[i - 1 - backslashes] === BACKSLASH) backslashes++;
    // Backslashes up to the first byte: whether there are more before it nobody knows.
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

function spaceBehind(bytes: Buffer, from: number): number {
  let i = from;
  while (i < bytes.length && isSpace(bytes[i])) i++;
  return i;
}
