/** Splits serial output into lines for people: text without terminal control sequences. */
import type { Mark } from './console-log-pending.js';

/** A part of a boot's text without a gap. */
export interface Stretch {
  /** Position of the first byte in the boot. */
  readonly start: number;
  readonly bytes: Buffer;
  /** Positions in the boot, ascending. */
  readonly marks: readonly Mark[];
}

/** A printed line. */
export interface PrintedLine {
  /** Position of the first byte in the boot; identifies the line. */
  readonly at: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** A text that is not empty and has no control characters. */
  readonly text: string;
}

/** The maximum length of a line in bytes; longer lines are split. */
const MAX_LINE_BYTES = 1_000;
const ESCAPE = 0x1b;
const NEWLINE = 0x0a;

/* oxlint-disable no-control-regex -- these patterns match control characters */
/**
 * Control sequences, control strings such as titles, and short escapes (ECMA-48 §5.3, §5.4, §5.6).
 */
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[PX\]^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)/g;
/**
 * Cursor positioning, screen clearing and reset, with which firmware and boot loaders start a line.
 */
const PLACING = /\x1b(?:\[[0-?]*[HfJ]|c)/g;
/* oxlint-enable no-control-regex */
/** Control characters and line separators. Also Cf, the characters that reverse or hide text. */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Returns the last lines of a stretch that have visible text, oldest first.
 * @param max maximum number of lines.
 * @param began the time of text before the first mark, in milliseconds since 1970.
 */
export function lastLines({ start, bytes, marks }: Stretch, max: number, began: number): readonly PrintedLine[] {
  const lines: PrintedLine[] = [];
  let end = bytes.length;
  let mark = marks.length - 1;
  // Starts at the end, to read no more than necessary.
  while (end > 0 && lines.length < max) {
    const newline = bytes.lastIndexOf(NEWLINE, end - 1);
    const parts = partsOf(bytes, newline + 1, end);
    for (const { from, to } of parts.toReversed()) {
      const text = visibleText(bytes.toString('utf8', from, to));
      if (text === '' || lines.length === max) continue;
      while (mark >= 0 && (marks[mark]?.at ?? 0) > start + from) mark -= 1;
      lines.push({ at: start + from, time: marks[mark]?.time ?? began, text });
    }
    end = newline < 0 ? 0 : newline;
  }
  return lines.reverse();
}

/** Splits a line where the cursor moves, and where it is too long. */
function partsOf(bytes: Buffer, from: number, to: number): readonly { readonly from: number; readonly to: number }[] {
  const cuts = [from];
  if (bytes.subarray(from, to).includes(ESCAPE)) {
    // latin1 gives one character for each byte, so that indexes are byte positions.
    for (const { index } of bytes.toString('latin1', from, to).matchAll(PLACING)) cuts.push(from + index);
  }
  return cuts.flatMap((cut, index) => {
    const end = cuts[index + 1] ?? to;
    const parts = [];
    let begin = cut;
    while (end - begin > MAX_LINE_BYTES) {
      const next = charStart(bytes, begin + MAX_LINE_BYTES);
      parts.push({ from: begin, to: next });
      begin = next;
    }
    return end > begin ? [...parts, { from: begin, to: end }] : parts;
  });
}

/** Returns the position of the first byte of the UTF-8 character at `at`; `at` if no such byte is near. */
function charStart(bytes: Buffer, at: number): number {
  for (let back = 0; back < 4; back += 1) if (((bytes[at - back] ?? 0) & 0xc0) !== 0x80) return at - back;
  return at;
}

/** Returns the text that a terminal would show of a line, without invisible characters. */
function visibleText(raw: string): string {
  const plain = raw.replace(ESCAPES, '').replaceAll('\t', '    ');
  // After a carriage return, new text overwrites the line, for example progress in percent.
  const last = plain.split('\r').findLast((part) => part.trim() !== '') ?? '';
  return erased(last).replace(INVISIBLE, '').trimEnd();
}

/** Applies backspaces. */
function erased(text: string): string {
  if (!text.includes('\b')) return text;
  const characters: string[] = [];
  for (const character of text) {
    if (character === '\b') characters.pop();
    else characters.push(character);
  }
  return characters.join('');
}
