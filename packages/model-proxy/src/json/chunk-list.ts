/**
 * A body in memory, as a list of chunks. Each Buffer takes about 100 bytes of V8's heap besides its content. A client that sends
 * a body of 100 MB in chunks of one byte would need 10 GB of it, so small chunks are joined.
 */

/** A list with fewer chunks keeps them as they are: nearly all bodies consist of a few. */
const JOINED_FROM = 64;
/** Larger chunks are not copied. */
const SMALL_BYTES = 1024;
const ROOM_BYTES = 16_384;

export class ChunkList {
  readonly #chunks: Buffer[] = [];
  /** Free memory behind the last copied chunk. */
  #room: Buffer = Buffer.alloc(0);

  /** In order. The list changes with {@link push}. */
  get chunks(): Buffer[] {
    return this.#chunks;
  }

  /** Stores a chunk, which must not change any more. */
  push(chunk: Buffer): void {
    if (this.#extendLast(chunk)) return;
    const isCopied = chunk.length <= SMALL_BYTES && this.#chunks.length >= JOINED_FROM;
    const stored = isCopied ? this.#copy(chunk) : chunk;
    if (!isCopied || !this.#extendLast(stored)) this.#chunks.push(stored);
  }

  /** @returns false: the chunk does not follow the last one in memory. */
  #extendLast(chunk: Buffer): boolean {
    const last = this.#chunks[this.#chunks.length - 1];
    if (last?.buffer !== chunk.buffer || last.byteOffset + last.length !== chunk.byteOffset) return false;
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
