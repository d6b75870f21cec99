/** Limits the bytes that the recording of one machine writes: a long-term rate, with bursts. */

/** The limits of a {@link WriteCredit}. */
interface WriteRate {
  /** Maximum rate of writes over a long time. */
  readonly bytesPerSecond: number;
  /** Number of bytes that a burst may write above this rate. */
  readonly burstBytes: number;
}

/**
 * Number of bytes that may be written now. An urgent write may exceed this number; later writes
 * then wait longer.
 */
export class WriteCredit {
  readonly #rate: WriteRate;
  #bytes: number;
  #countedAt = performance.now();

  constructor(rate: WriteRate) {
    this.#rate = rate;
    this.#bytes = rate.burstBytes;
  }

  /** Returns whether this number of bytes may be written now. */
  allows(bytes: number): boolean {
    const time = performance.now();
    const earned = ((time - this.#countedAt) / 1000) * this.#rate.bytesPerSecond;
    this.#bytes = Math.min(this.#rate.burstBytes, this.#bytes + earned);
    this.#countedAt = time;
    return this.#bytes >= bytes;
  }

  /** Counts written bytes. */
  spend(bytes: number): void {
    this.#bytes -= bytes;
  }
}
