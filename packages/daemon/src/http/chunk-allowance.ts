/** Number and average size of the chunks that a body may have. */
interface ChunkAllowanceOptions {
  /** Number of chunks that may have any size. */
  readonly freeChunks: number;
  /** Minimum average size of all further chunks, in bytes. */
  readonly minAverageBytes: number;
}

/**
 * Counts the chunks of a request body (RFC 9112 §7.1). Each chunk costs the server a call, even if
 * it has one byte.
 */
export class ChunkAllowance {
  readonly #minAverageBytes: number;
  #left: number;

  constructor({ freeChunks, minAverageBytes }: ChunkAllowanceOptions) {
    this.#left = freeChunks;
    this.#minAverageBytes = minAverageBytes;
  }

  /** Counts a chunk. Returns false if the body has too many small chunks. */
  accept(chunk: Buffer): boolean {
    // A chunk costs one unit of the allowance. Each `minAverageBytes` bytes in it add one unit.
    this.#left += chunk.length / this.#minAverageBytes - 1;
    return this.#left >= 0;
  }
}
