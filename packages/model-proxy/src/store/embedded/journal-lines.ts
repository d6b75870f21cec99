/**
 * Lines of a journal: a checksum, a space, then the JSON of an entry. With the checksum, a reader
 * recognizes and ignores a line whose write a crash interrupted.
 */
import { crc32 } from 'node:zlib';

/** An entry: its kind, its id, and its value. null: the entry was deleted. */
export type Entry = readonly [kind: string, id: string, value: object | null];

/** Longer lines are damaged: the store writes no such lines. */
export const MAX_LINE_BYTES = 1_048_576;
const CHECKSUM_LENGTH = 8;

/** Writes a line. */
export function lineOf(entry: Entry): string {
  const text = JSON.stringify(entry);
  return `${checksumOf(text)} ${text}\n`;
}

/** Reads a line without its line feed. @returns undefined: the line is damaged. */
export function entryOf(line: string): Entry | undefined {
  const text = line.slice(CHECKSUM_LENGTH + 1);
  if (line[CHECKSUM_LENGTH] !== ' ' || checksumOf(text) !== line.slice(0, CHECKSUM_LENGTH)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The checksum is right, so this is no damage: a person has written the line.
    return undefined;
  }
  return isEntry(value) ? value : undefined;
}

function isEntry(value: unknown): value is Entry {
  if (!Array.isArray(value) || value.length !== 3) return false;
  const [kind, id, content] = value as unknown[]; // an array of any length and content
  return typeof kind === 'string' && typeof id === 'string' && typeof content === 'object' && !Array.isArray(content);
}

function checksumOf(text: string): string {
  return crc32(text).toString(16).padStart(CHECKSUM_LENGTH, '0');
}
