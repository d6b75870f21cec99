/**
 * Buffers the output of a serial port until it is on the disk. The buffer is bounded, and stores
 * the times of the text.
 */

/**
 * The time of text: the text from byte `at` (in the piece, or in the boot) to the next mark arrived at
 * `time` or less than a second later. If the buffer already has its maximum number of marks, text that arrived
 * much later also belongs to the last mark.
 */
export interface Mark {
  readonly at: number;
  /** Milliseconds since 1970. */
  readonly time: number;
}

/** A piece of a boot's text. */
export interface Piece {
  readonly bytes: Buffer;
  /** Ascending. Empty if the last mark of the previous piece also applies to this piece. */
  readonly marks: readonly Mark[];
}

/** The minimum time between two marks. */
const MARK_EVERY_MS = 1_000;
/** Maximum number of marks, which matters if a disk hangs for hours. */
const MAX_MARKS = 256;
/** Minimum size of the buffer. */
const MIN_BUFFER_BYTES = 1_024;

/** Formats a note as a part of the text, so that readers of the file see it. */
export function note(text: string): Buffer {
  return Buffer.from(`\r\n[rackless: ${text}]\r\n`);
}

/** The text of one boot that is not written yet. */
export class PendingText {
  readonly #limit: number;
  #bytes = Buffer.alloc(0);
  #size = 0;
  #marks: Mark[] = [];
  #lastMark = -Infinity;
  /** Bytes dropped in front of the buffered text. */
  #lostBytes = 0;

  /** @param limit maximum number of buffered bytes; above it the oldest bytes are dropped. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Number of buffered bytes. */
  get size(): number {
    return this.#size;
  }

  /** Appends a copy, because bytes from a socket may be a small slice of a large buffer. */
  add(bytes: Uint8Array, time: number): void {
    const added = bytes.length > this.#limit ? bytes.subarray(bytes.length - this.#limit) : bytes;
    const over = this.#size + bytes.length - this.#limit;
    // Drops half the buffer at a time: a flood would otherwise move the whole buffer for each byte.
    if (over > 0) this.#drop(Math.min(this.#size, Math.max(over, this.#limit >> 1)));
    this.#lostBytes += bytes.length - added.length;
    this.#grow(this.#size + added.length);
    // If the clock was set back, makes a mark at once, and does not wait until the clock passes the
    // last mark.
    if (Math.abs(time - this.#lastMark) >= MARK_EVERY_MS && this.#marks.length < MAX_MARKS) {
      this.#marks.push({ at: this.#size, time });
      this.#lastMark = time;
    }
    this.#bytes.set(added, this.#size);
    this.#size += added.length;
  }

  /** Records that bytes in front of the next text were lost. */
  countLost(count: number): void {
    this.#lostBytes += count;
  }

  /** Returns a copy of the buffered text, after a note if bytes were lost. */
  peek(): Buffer {
    return Buffer.concat([
      ...(this.#lostBytes === 0 ? [] : [note(missingBytesText(this.#lostBytes))]),
      this.#bytes.subarray(0, this.#size),
    ]);
  }

  /**
   * Empties the buffer and returns its text as a piece, after a note if bytes were lost.
   * @returns also `printed`, the number of guest bytes that the piece stands for.
   */
  take(): Piece & { readonly printed: number } {
    const bytes = this.#bytes.subarray(0, this.#size);
    const marks = this.#marks;
    const lost = this.#lostBytes;
    const printed = lost + bytes.length;
    this.#bytes = Buffer.alloc(0);
    this.#size = 0;
    this.#marks = [];
    this.#lostBytes = 0;
    if (lost === 0) return { bytes, marks, printed };
    const gap = note(missingBytesText(lost));
    return {
      bytes: Buffer.concat([gap, bytes]),
      printed,
      marks: marks.map(({ at, time }, index) => ({ at: index === 0 && at === 0 ? 0 : at + gap.length, time })),
    };
  }

  #drop(count: number): void {
    this.#bytes.copyWithin(0, count, this.#size);
    this.#size -= count;
    this.#lostBytes += count;
    const last = this.#marks.findLast(({ at }) => at <= count);
    this.#marks = [
      ...(last === undefined ? [] : [{ at: 0, time: last.time }]),
      ...this.#marks.filter(({ at }) => at > count).map(({ at, time }) => ({ at: at - count, time })),
    ];
  }

  #grow(size: number): void {
    if (size <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.min(this.#limit, Math.max(size, 2 * this.#bytes.length, MIN_BUFFER_BYTES)));
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
  }
}

/** Returns the text of a note about missing bytes. */
export function missingBytesText(bytes: number): string {
  return `${bytes} bytes left out`;
}
