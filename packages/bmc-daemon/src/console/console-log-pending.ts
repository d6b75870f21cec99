/** What a serial port has printed and the disk does not have yet: bounded, and with the times at which it came. */

/** From this byte on (of the piece, or of the boot) it came at this time or up to a second later. */
export interface Mark {
  readonly at: number;
  /** Milliseconds since 1970. */
  readonly time: number;
}

/** A piece of a boot's text. */
export interface Piece {
  readonly bytes: Buffer;
  /** Ascending; none where the last one of the piece before still holds. */
  readonly marks: readonly Mark[];
}

/** Between two marks. */
const MARK_EVERY_MS = 1_000;
/** A disk that hangs for hours must not make them many. */
const MOST_MARKS = 256;
const SMALLEST = 1_024;

/** In the text itself, so that whoever reads the file sees it, too. */
export function note(text: string): Buffer {
  return Buffer.from(`\r\n[rackless: ${text}]\r\n`);
}

/** The text of one boot that waits to be written. */
export class PendingText {
  readonly #limit: number;
  #bytes = Buffer.alloc(0);
  #size = 0;
  #marks: Mark[] = [];
  #lastMark = -Infinity;
  /** Left out before what is there. */
  #lost = 0;

  /** @param limit bytes that wait at most; beyond it the oldest make room. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Bytes that wait. */
  get size(): number {
    return this.#size;
  }

  /** Copies it: what comes from a socket may be a small part of a large buffer. */
  add(bytes: Uint8Array, time: number): void {
    const added = bytes.length > this.#limit ? bytes.subarray(bytes.length - this.#limit) : bytes;
    const over = this.#size + bytes.length - this.#limit;
    // Half of it at a time: a flood would otherwise move all of it with every byte.
    if (over > 0) this.#drop(Math.min(this.#size, Math.max(over, this.#limit >> 1)));
    this.#lost += bytes.length - added.length;
    this.#grow(this.#size + added.length);
    // The clock may go back; the next mark must not wait until it is where it was.
    if (Math.abs(time - this.#lastMark) >= MARK_EVERY_MS && this.#marks.length < MOST_MARKS) {
      this.#marks.push({ at: this.#size, time });
      this.#lastMark = time;
    }
    this.#bytes.set(added, this.#size);
    this.#size += added.length;
  }

  /** Says that so many bytes before what comes next are nowhere. */
  lose(count: number): void {
    this.#lost += count;
  }

  /**
   * Hands over what there is, with a note where something was left out.
   * @returns also how many printed bytes that stands for: what is lost with it where it can not be written.
   */
  take(): Piece & { readonly printed: number } {
    const bytes = this.#bytes.subarray(0, this.#size);
    const marks = this.#marks;
    const lost = this.#lost;
    const printed = lost + bytes.length;
    this.#bytes = Buffer.alloc(0);
    this.#size = 0;
    this.#marks = [];
    this.#lost = 0;
    if (lost === 0) return { bytes, marks, printed };
    const gap = note(leftOut(lost));
    return {
      bytes: Buffer.concat([gap, bytes]),
      printed,
      marks: marks.map(({ at, time }, index) => ({ at: index === 0 && at === 0 ? 0 : at + gap.length, time })),
    };
  }

  #drop(count: number): void {
    this.#bytes.copyWithin(0, count, this.#size);
    this.#size -= count;
    this.#lost += count;
    const last = this.#marks.findLast(({ at }) => at <= count);
    this.#marks = [
      ...(last === undefined ? [] : [{ at: 0, time: last.time }]),
      ...this.#marks.filter(({ at }) => at > count).map(({ at, time }) => ({ at: at - count, time })),
    ];
  }

  #grow(size: number): void {
    if (size <= this.#bytes.length) return;
    const larger = Buffer.alloc(Math.min(this.#limit, Math.max(size, 2 * this.#bytes.length, SMALLEST)));
    larger.set(this.#bytes.subarray(0, this.#size));
    this.#bytes = larger;
  }
}

/** The words for so many bytes that are not there. */
export function leftOut(bytes: number): string {
  return `${bytes} bytes left out`;
}
