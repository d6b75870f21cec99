/**
 * A set of member names in 64 bits, which may report false positives but no false negatives (a
 * Bloom filter with one hash). The hash uses the length and the first byte of a name. Most
 * requests contain none of the few names that the proxy searches for; the sketch then saves a
 * search of the whole text.
 */
export class KeySketch {
  #low = 0;
  #high = 0;

  /**
   * Adds a name.
   * @param length in bytes.
   * @param first the name's first byte; 0 if the name is empty.
   */
  add(length: number, first: number): void {
    const bit = bitOf(length, first);
    if (bit < 32) this.#low |= 1 << bit;
    else this.#high |= 1 << (bit - 32);
  }

  /** Makes {@link mayHave} return true for every name. Use it for a name that the caller does not decode. */
  addAny(): void {
    this.#low = this.#high = -1;
  }

  /**
   * Returns whether the set may contain a name.
   * @param name ASCII.
   * @returns false if the name is certainly absent.
   */
  mayHave(name: string): boolean {
    const bit = bitOf(name.length, name.charCodeAt(0));
    return ((bit < 32 ? this.#low >>> bit : this.#high >>> (bit - 32)) & 1) === 1;
  }
}

/**
 * Returns the bit of a name. The formula gives different bits to most of the usual names. Above all, `description`, a
 * frequent name, has another bit than `thinking_blocks`, which the proxy searches for.
 */
const bitOf = (length: number, first: number) => ((length * 5) ^ first) & 63;
