/**
 * Which names may stand in a JSON text, in 64 bits: each name sets one of them, by its length and its first byte. Most requests have
 * none of the few names that somebody looks for, and their text need not be searched then.
 */
export class KeySketch {
  #low = 0;
  #high = 0;

  /** @param length in bytes. @param first the name's first byte; 0 where it is empty. */
  add(length: number, first: number): void {
    const bit = bitOf(length, first);
    if (bit < 32) this.#low |= 1 << bit;
    else this.#high |= 1 << (bit - 32);
  }

  /** Takes every name for possible: there is one whose spelling is not its own. */
  addAny(): void {
    this.#low = this.#high = -1;
  }

  /** @param name ASCII. @returns false: it is certain that there is no such name. */
  mayHave(name: string): boolean {
    const bit = bitOf(name.length, name.charCodeAt(0));
    return ((bit < 32 ? this.#low >>> bit : this.#high >>> (bit - 32)) & 1) === 1;
  }
}

/** Of the usual names of requests few share a bit, `description` and `thinking_blocks` not among them. */
const bitOf = (length: number, first: number) => ((length * 5) ^ first) & 63;
