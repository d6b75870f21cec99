/** Decodes the names of members. */
import { isSpelled } from './navigate.js';

/** Decoded names, by a hash of their bytes. Their number is limited, because clients may send any name. */
const names = new Map<number, string>();
const MAX_NAMES = 500;
const MAX_LENGTH = 40;

/**
 * Returns a name in ASCII. Requests have few different names, and a name that was decoded before costs a third of a
 * new text. V8 also compares such names faster.
 * @param start position after the opening quote.
 * @param end position of the closing quote.
 * @returns undefined: the name is too long or not ASCII, or has an escape.
 */
export function keyName(bytes: Buffer, start: number, end: number): string | undefined {
  if (end - start > MAX_LENGTH) return undefined;
  let hash = end - start;
  for (let i = start; i < end; i += 1) {
    const byte = bytes[i] ?? 0;
    if (byte >= 0x80 || byte === 0x5c) return undefined;
    hash = (Math.imul(hash, 31) + byte) | 0;
  }
  const known = names.get(hash);
  if (known !== undefined && isSpelled(bytes, start, end, known)) return known;
  const name = bytes.toString('latin1', start, end);
  if (known === undefined && names.size < MAX_NAMES) names.set(hash, name);
  return name;
}
