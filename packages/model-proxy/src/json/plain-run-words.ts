/**
 * Searches for the end of a plain run ({@link PlainRuns.endFrom} defines it) in words of four
 * bytes, with integer arithmetic, which needs no WebAssembly. The tests compare the vector search with
 * this search.
 *
 * The search reads 16 bytes at a time: 0.18 ns per byte on Node 20, where a loop over single bytes takes
 * 0.7 ns. A DataView reads words at any address, so short strings need no alignment. In long
 * strings `Buffer.indexOf` finds the quote and the backslash (0.01 ns per byte each), and the words
 * are searched for control characters only: 0.1 ns per byte. A call of `indexOf` costs 25 ns, which
 * is worth it from some hundred bytes on.
 */
import { isHex, isShortEscape } from './escape.js';

/** The search in one chunk, with its state. */
export interface PlainRuns {
  /** Set when the search meets a backslash, also if it ends there. The caller resets it. */
  escaped: boolean;
  /**
   * Skips a plain run: plain characters and complete escapes in a string. Python clients send all
   * text that is not ASCII as `\u0416\u0438`.
   * @param from a position inside a string and outside of escapes; from 0 to the chunk's length.
   * @returns index of the first quote, control character (below U+0020), or backslash that starts
   * an invalid escape or an escape that the chunk cuts. The chunk's length if there is none of
   * them.
   */
  endFrom(from: number): number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** After this many plain bytes a string counts as long. */
const LONG_BYTES = 512;

/** The search in a chunk, which it reads as bytes and as words. Nothing is copied. */
export class WordRuns implements PlainRuns {
  escaped = false;
  readonly #bytes: Buffer;
  /** The same memory as `#bytes`. */
  readonly #view: DataView;
  /**
   * Position of the first backslash after the start of the last search for one; the chunk's length: none. Cached,
   * because finding it may mean reading many strings.
   */
  #backslash = -1;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /**
   * The high bit of each byte of `(x - 0x20202020) & ~x` is set if that byte of x is below 0x20.
   * With `x ^ q` and 0x01010101 instead, it is set if the byte equals the byte that q repeats.
   * Bits after the first hit may be wrong, bits before it never are: so the search uses only the
   * lowest bit. Everything is in one function: text with escapes has only some dozen bytes between
   * two escapes, and a call costs as much as reading these.
   */
  endFrom(from: number): number {
    const bytes = this.#bytes;
    const view = this.#view;
    const end = bytes.length;
    let i = from;
    for (;;) {
      const nearby = Math.min(end, i + LONG_BYTES);
      let hits = 0;
      for (const last = nearby - 16; i <= last; i += 16) {
        const a = view.getInt32(i, true);
        const b = view.getInt32(i + 4, true);
        const c = view.getInt32(i + 8, true);
        const d = view.getInt32(i + 12, true);
        const inA = ((a - 0x20202020) | ((a ^ 0x22222222) - 0x01010101) | ((a ^ 0x5c5c5c5c) - 0x01010101)) & ~a;
        const inB = ((b - 0x20202020) | ((b ^ 0x22222222) - 0x01010101) | ((b ^ 0x5c5c5c5c) - 0x01010101)) & ~b;
        const inC = ((c - 0x20202020) | ((c ^ 0x22222222) - 0x01010101) | ((c ^ 0x5c5c5c5c) - 0x01010101)) & ~c;
        const inD = ((d - 0x20202020) | ((d ^ 0x22222222) - 0x01010101) | ((d ^ 0x5c5c5c5c) - 0x01010101)) & ~d;
        if (((inA | inB | inC | inD) & 0x80808080) === 0) continue;
        // Find the first word with a hit, then its first byte.
        if ((hits = inA & 0x80808080) === 0) {
          i += 4;
          if ((hits = inB & 0x80808080) === 0) {
            i += 4;
            if ((hits = inC & 0x80808080) === 0) {
              i += 4;
              hits = inD & 0x80808080;
            }
          }
        }
        i += (31 - Math.clz32(hits & -hits)) >> 3;
        break;
      }
      if (hits === 0) {
        i = endByBytes(bytes, i, nearby);
        if (i === nearby && i < end) i = this.#endOfLongRun(i);
        if (i >= end) return end;
      }
      if (bytes[i] !== BACKSLASH) return i;
      this.escaped = true;
      if (i + 1 === end) return i;
      const letter = bytes[i + 1] ?? 0;
      if (isShortEscape(letter)) i += 2;
      else if (letter === 0x75 && i + 6 <= end && areHex(bytes, i + 2)) i += 6;
      else return i;
    }
  }

  /**
   * Returns the position of the first quote, control character or backslash of a long string, such as an image; the
   * chunk's length if there is none.
   */
  #endOfLongRun(from: number): number {
    const bytes = this.#bytes;
    const view = this.#view;
    const quote = bytes.indexOf(QUOTE, from);
    let stop = quote === -1 ? bytes.length : quote;
    if (this.#backslash < from) {
      const found = bytes.indexOf(BACKSLASH, from);
      this.#backslash = found === -1 ? bytes.length : found;
    }
    if (this.#backslash < stop) stop = this.#backslash;

    let i = from;
    for (const last = stop - 16; i <= last; i += 16) {
      const a = view.getInt32(i, true);
      const b = view.getInt32(i + 4, true);
      const c = view.getInt32(i + 8, true);
      const d = view.getInt32(i + 12, true);
      const hits =
        ((a - 0x20202020) & ~a) | ((b - 0x20202020) & ~b) | ((c - 0x20202020) & ~c) | ((d - 0x20202020) & ~d);
      if ((hits & 0x80808080) !== 0) break;
    }
    return endByBytes(bytes, i, stop);
  }
}

function areHex(bytes: Buffer, at: number): boolean {
  return isHex(bytes[at] ?? 0) && isHex(bytes[at + 1] ?? 0) && isHex(bytes[at + 2] ?? 0) && isHex(bytes[at + 3] ?? 0);
}

function endByBytes(bytes: Buffer, from: number, end: number): number {
  for (let i = from; i < end; i++) {
    const byte = bytes[i] ?? 0;
    if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) return i;
  }
  return end;
}
