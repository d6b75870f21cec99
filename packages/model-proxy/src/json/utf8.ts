/**
 * Checks that bytes which arrive in pieces are UTF-8. Node's `isUtf8` does the check (simdutf, 0.01
 * ns per byte).
 */
import { isUtf8 } from 'node:buffer';

/** A check of one text, piece by piece. Pieces may be cut inside a UTF-8 sequence. */
export class Utf8Check {
  /** The beginning of a sequence that is not complete yet: 0 to 3 bytes. */
  #cut: Buffer = nothing;
  #faultOffset = 0;

  /**
   * Checks the next piece.
   * @returns false if the check finds a fault; {@link faultOffset} is then the position of the first
   * wrong byte. If a piece ends inside a faulty sequence, a later call or {@link finish} finds the
   * fault.
   */
  push(piece: Buffer): boolean {
    const before = this.#cut;
    if (this.#take(piece)) return true;
    this.#faultOffset = faultOf(Buffer.concat([before, piece])) - before.length;
    return false;
  }

  /** Offset of the first wrong byte in the rejected piece; negative if that byte is in an earlier piece. */
  get faultOffset(): number {
    return this.#faultOffset;
  }

  #take(piece: Buffer): boolean {
    let rest = piece;
    if (this.#cut.length > 0) {
      const missing = sequenceLength(this.#cut[0] ?? 0) - this.#cut.length;
      const sequence = Buffer.concat([this.#cut, piece.subarray(0, missing)]);
      if (piece.length < missing) {
        this.#cut = sequence;
        // A fault in this sequence is reported when the sequence is complete or the text ends.
        return true;
      }
      if (!isUtf8(sequence)) return false;
      this.#cut = nothing;
      rest = piece.subarray(missing);
    }
    if ((rest[rest.length - 1] ?? 0) >= 0x80) {
      const whole = withoutCutSequence(rest);
      // A copy, so that these one to three bytes do not keep the whole chunk in memory.
      this.#cut = Buffer.from(rest.subarray(whole));
      rest = rest.subarray(0, whole);
    }
    return isUtf8(rest);
  }

  /** Ends the text. @returns false if the text ends inside a sequence. */
  finish(): boolean {
    return this.#cut.length === 0;
  }
}

/** Returns the position of the first byte that makes these bytes invalid UTF-8. */
function faultOf(bytes: Buffer): number {
  let good = 0;
  let bad = bytes.length;
  while (bad - good > 1) {
    const middle = (good + bad) >>> 1;
    if (isUtf8(bytes.subarray(0, withoutCutSequence(bytes.subarray(0, middle))))) good = middle;
    else bad = middle;
  }
  return good;
}

const nothing = Buffer.alloc(0);

/**
 * Returns the length of the sequence that a lead byte announces; 1 for a byte that is not a lead
 * byte.
 */
function sequenceLength(lead: number): number {
  if (lead < 0xc2) return 1;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return 3;
  return lead < 0xf5 ? 4 : 1;
}

/** Returns where the last sequence begins if it is not complete; otherwise the length. */
function withoutCutSequence(bytes: Buffer): number {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const at = bytes.length - back;
    const byte = bytes[at] ?? 0;
    if (byte < 0x80) return bytes.length;
    if (byte >= 0xc0) return sequenceLength(byte) > back ? at : bytes.length;
  }
  return bytes.length;
}
