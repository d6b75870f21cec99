/** What a serial port printed, as lines for people: text without what a terminal would obey rather than show. */
import type { Mark } from './console-log-pending.js';

/** A part of a boot's text without a gap. */
export interface Stretch {
  /** Of its first byte, in the boot. */
  readonly start: number;
  readonly bytes: Buffer;
  /** As in the boot. Ascending. */
  readonly marks: readonly Mark[];
}

export interface ConsoleLine {
  /** Of its first byte, in the boot: what it is known by. */
  readonly at: number;
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Not empty; no control characters. */
  readonly text: string;
}

/** The longest line that is shown as one. */
const LONGEST = 1_000;
const ESCAPE = 0x1b;
const NEWLINE = 0x0a;

/* oxlint-disable no-control-regex -- control characters are what this is about */
/** Control sequences, strings for the terminal (titles, answers), and the short ones (ECMA-48 §5.3, §5.4, §5.6). */
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|[PX\]^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~]?)/g;
/** Cursor to a place, screen cleared, terminal reset: what firmware and boot loaders begin a line with. */
const PLACING = /\x1b(?:\[[0-?]*[HfJ]|c)/g;
/* oxlint-enable no-control-regex */
/** Also what turns text around or hides in it (Cf). */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * The last lines of a stretch, oldest first.
 * @param most how many.
 * @param began the time of what comes before the first mark.
 */
export function lastLines({ start, bytes, marks }: Stretch, most: number, began: number): readonly ConsoleLine[] {
  const lines: ConsoleLine[] = [];
  let end = bytes.length;
  let mark = marks.length - 1;
  // From the end: what is not asked for is not looked at.
  while (end > 0 && lines.length < most) {
    const newline = bytes.lastIndexOf(NEWLINE, end - 1);
    const parts = partsOf(bytes, newline + 1, end);
    for (const { from, to } of parts.toReversed()) {
      const text = shown(bytes.toString('utf8', from, to));
      if (text === '' || lines.length === most) continue;
      while (mark >= 0 && (marks[mark]?.at ?? 0) > start + from) mark -= 1;
      lines.push({ at: start + from, time: marks[mark]?.time ?? began, text });
    }
    end = newline < 0 ? 0 : newline;
  }
  return lines.reverse();
}

/** A line of bytes, cut where the cursor is put somewhere else, and where it is too long. */
function partsOf(bytes: Buffer, from: number, to: number): readonly { readonly from: number; readonly to: number }[] {
  const cuts = [from];
  if (bytes.subarray(from, to).includes(ESCAPE)) {
    // One character a byte, so that places in the text are places in the bytes.
    for (const { index } of bytes.toString('latin1', from, to).matchAll(PLACING)) cuts.push(from + index);
  }
  return cuts.flatMap((cut, index) => {
    const end = cuts[index + 1] ?? to;
    const parts = [];
    let begin = cut;
    while (end - begin > LONGEST) {
      const next = charStart(bytes, begin + LONGEST);
      parts.push({ from: begin, to: next });
      begin = next;
    }
    return end > begin ? [...parts, { from: begin, to: end }] : parts;
  });
}

/** The beginning of the UTF-8 character that this byte is in. */
function charStart(bytes: Buffer, at: number): number {
  for (let back = 0; back < 4; back += 1) if (((bytes[at - back] ?? 0) & 0xc0) !== 0x80) return at - back;
  return at;
}

/** What a person would see of it. */
function shown(raw: string): string {
  const plain = raw.replace(ESCAPES, '').replaceAll('\t', '    ');
  // What was printed over something else is what is left to be seen: progress in per cent, a prompt.
  const last = plain.split('\r').findLast((part) => part.trim() !== '') ?? '';
  return erased(last).replace(INVISIBLE, '').trimEnd();
}

/** With each backspace the character before it goes. */
function erased(text: string): string {
  if (!text.includes('\b')) return text;
  const kept: string[] = [];
  for (const character of text) {
    if (character === '\b') kept.pop();
    else kept.push(character);
  }
  return kept.join('');
}
