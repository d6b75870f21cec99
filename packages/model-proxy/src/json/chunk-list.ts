/**
 * Stores a body as a list of chunks.
 *
 * Each Buffer takes about 100 bytes of V8's heap in addition to its content. A client that sends
 * 100 MB in chunks of one byte would occupy 10 GB, so the list joins small chunks.
 */

/** From this number of chunks on, the list copies small chunks into larger buffers. Nearly all bodies have fewer. */
const JOINED_FROM = 64;
/** Maximum size of a small chunk. */
const SMALL_BYTES = 1024;
/** Size of the buffers that small chunks are copied into. */
const ROOM_BYTES = 16_384;

/** All new lists share this buffer. Making a buffer takes longer than all other work for a list of one chunk. */
const nothing = Buffer.alloc(0);

/** A growing list of chunks. Its memory stays proportional to its bytes. */
export class ChunkList {
  readonly #chunks: Buffer[] = [];
  /** Free memory after the last copied chunk. */
  #room: Buffer = nothing;

  /** All chunks in order. {@link push} changes this array. */
  get chunks(): Buffer[] {
    return this.#chunks;
  }

  /** Adds a chunk. The caller must not change the chunk afterwards. */
  push(chunk: Buffer): void {
    if (this.#extendLast(chunk)) return;
    const isCopied = chunk.length <= SMALL_BYTES && this.#chunks.length >= JOINED_FROM;
    const stored = isCopied ? this.#copy(chunk) : chunk;
    if (!isCopied || !this.#extendLast(stored)) this.#chunks.push(stored);
  }

  /** Joins a chunk to the last chunk without a copy. @returns false if it does not follow the last chunk in memory. */
  #extendLast(chunk: Buffer): boolean {
    const last = this.#chunks[this.#chunks.length - 1];
    if (last === undefined || last.buffer !== chunk.buffer || last.byteOffset + last.length !== chunk.byteOffset)
      return false;
    this.#chunks[this.#chunks.length - 1] = Buffer.from(last.buffer, last.byteOffset, last.length + chunk.length);
    return true;
  }

  #copy(chunk: Buffer): Buffer {
    if (this.#room.length < chunk.length) this.#room = Buffer.allocUnsafeSlow(ROOM_BYTES);
    chunk.copy(this.#room);
    const copied = this.#room.subarray(0, chunk.length);
    this.#room = this.#room.subarray(chunk.length);
    return copied;
  }
}
