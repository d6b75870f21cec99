/**
 * How far a JSON string goes on without a byte that matters: the scanner's inner loop, and where all its time goes.
 *
 * Three gears, chosen by length, as measured on Node 20 (10 MB, in nanoseconds a byte): one byte after the other 0.7; four at a time by
 * arithmetic on words 0.3; `Buffer.indexOf` for quote and backslash 0.01 each plus words that look for control characters only, 0.1.
 * A call of `indexOf` costs 25 ns, so it pays from some hundred bytes on.
 */

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Strings shorter than this are read by bytes: names, roles, ids. */
const BYTE_GEAR = 16;
/** From this many plain bytes on a string is taken for a long one. */
const WORD_GEAR = 512;

/** One chunk, and what the search remembers of it. */
export interface PlainRuns {
  readonly bytes: Buffer;
  /** The chunk's whole words at addresses that are multiples of four. */
  readonly words: Int32Array;
  /** Where in the chunk the first word lies. */
  readonly wordsStart: number;
  /** The first backslash at or behind the last place asked for; its search may pass many strings, hence it is done once. */
  backslash: number;
  /** Set when an escape has been passed by. */
  escaped: boolean;
}

/** Sees a chunk as bytes and as words; nothing is copied. */
export function plainRuns(bytes: Buffer): PlainRuns {
  const wordsStart = -bytes.byteOffset & 3;
  const count = bytes.length > wordsStart ? (bytes.length - wordsStart) >> 2 : 0;
  const words = count === 0 ? noWords : new Int32Array(bytes.buffer, bytes.byteOffset + wordsStart, count);
  return { bytes, words, wordsStart, backslash: -1, escaped: false };
}

const noWords = new Int32Array(0);

/**
 * Passes by plain characters and whole escapes: a Python client sends any text that is not English as `\u0416\u0438`.
 * @param from a place inside of a string, behind any escape; from 0 to the chunk's length.
 * @returns the index of the first quote, control character (below U+0020) or backslash of what is no escape, or none that ends in this chunk.
 * Without any of them the chunk's length.
 */
export function endOfPlainRun(runs: PlainRuns, from: number): number {
  const { bytes, words, wordsStart } = runs;
  const end = bytes.length;
  let i = from;
  // Short strings end here; of longer ones it is the way to the next whole word.
  let nearby = Math.min(end, i + BYTE_GEAR - ((i + BYTE_GEAR - wordsStart) & 3));
  for (;;) {
    for (; i < nearby; i++) {
      const byte = bytes[i] ?? 0;
      if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) break;
    }
    if (i === nearby && i < end) {
      // For words x: ((x - 0x20202020) & ~x & 0x80808080) is not 0 just where one of its four bytes is below 0x20; a byte that differs
      // from the one looked for in nothing is one below 0x01 after XOR. (Bytes behind the first hit may be reported wrongly, none before it.)
      let word = (i - wordsStart) >> 2;
      const wordsNearby = Math.min(words.length, word + (WORD_GEAR >> 2));
      for (; word < wordsNearby; word++) {
        const x = words[word] ?? 0;
        const quote = x ^ 0x22222222;
        const backslash = x ^ 0x5c5c5c5c;
        const hits =
          ((x - 0x20202020) & ~x) | ((quote - 0x01010101) & ~quote) | ((backslash - 0x01010101) & ~backslash);
        if ((hits & 0x80808080) !== 0) break;
      }
      i = wordsStart + (word << 2);
      if (word < wordsNearby || wordsNearby === words.length) i = endByBytes(bytes, i, end);
      else i = endOfLongRun(runs, i);
    }
    if (i >= end) return end;
    if (bytes[i] !== BACKSLASH || i + 1 === end) return i;
    const letter = bytes[i + 1] ?? 0;
    if (isShortEscape(letter)) i += 2;
    else if (letter === 0x75 && i + 6 <= end && areHex(bytes, i + 2)) i += 6;
    else return i;
    runs.escaped = true;
    nearby = Math.min(end, i + ((wordsStart - i) & 3));
  }
}

function areHex(bytes: Buffer, at: number): boolean {
  return isHex(bytes[at] ?? 0) && isHex(bytes[at + 1] ?? 0) && isHex(bytes[at + 2] ?? 0) && isHex(bytes[at + 3] ?? 0);
}

/** Whether a byte is one of the digits of `\u00e9`. */
export function isHex(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}

/** Whether a letter makes an escape of its own behind a backslash: all but `u` do so. */
export function isShortEscape(byte: number): boolean {
  switch (byte) {
    case 0x22:
    case 0x5c:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return true;
    default:
      return false;
  }
}

function endByBytes(bytes: Buffer, from: number, end: number): number {
  for (let i = from; i < end; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) return i;
  }
  return end;
}

/** As {@link endOfPlainRun} from the start of a word on, for images and the like. */
function endOfLongRun(runs: PlainRuns, from: number): number {
  const { bytes, words } = runs;
  const quote = bytes.indexOf(QUOTE, from);
  let stop = quote === -1 ? bytes.length : quote;
  if (runs.backslash < from) {
    const found = bytes.indexOf(BACKSLASH, from);
    runs.backslash = found === -1 ? bytes.length : found;
  }
  if (runs.backslash < stop) stop = runs.backslash;

  let word = (from - runs.wordsStart) >> 2;
  const last = ((stop - runs.wordsStart) >> 2) - 3;
  for (; word < last; word += 4) {
    const a = words[word] ?? 0;
    const b = words[word + 1] ?? 0;
    const c = words[word + 2] ?? 0;
    const d = words[word + 3] ?? 0;
    const hits = ((a - 0x20202020) & ~a) | ((b - 0x20202020) & ~b) | ((c - 0x20202020) & ~c) | ((d - 0x20202020) & ~d);
    if ((hits & 0x80808080) !== 0) break;
  }
  return endByBytes(bytes, runs.wordsStart + (word << 2), stop);
}
