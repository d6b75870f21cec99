import { MAX_MESSAGE_BYTES, XdrError } from '../xdr.js';
import { HEADER_BYTES } from './message.js';

/**
 * Called for one message: the bytes of `buffer` from `start` (inclusive) to `end` (exclusive), which
 * begin with the length word.
 * @param owned true: the callback may store the bytes. false: they are valid only during the call.
 * @returns false to defer the message. `push` then returns this message and all bytes after it.
 */
type OnMessage = (buffer: Buffer, start: number, end: number, owned: boolean) => boolean;

const LENGTH_BYTES = 4;

/** Splits a sequence of chunks into messages. Does not copy a message that is inside one chunk. */
export class MessageSplitter {
  /** Incomplete length word of an earlier chunk, and the number of its bytes. */
  readonly #word = Buffer.alloc(LENGTH_BYTES);
  #wordBytes = 0;
  /** Incomplete message of an earlier chunk, and the number of its bytes. */
  #message: Buffer | null = null;
  #messageBytes = 0;

  constructor(private readonly onMessage: OnMessage) {}

  /**
   * Adds a chunk and calls the callback for each complete message.
   * @returns null, or the bytes from the first deferred message to the end of the chunk.
   * @throws {XdrError} if a message has an invalid length. Close the connection then.
   */
  push(chunk: Buffer): Buffer | null {
    let offset = 0;
    if (this.#message !== null || this.#wordBytes > 0) {
      offset = this.#continue(chunk);
      const message = this.#message;
      if (message === null || this.#messageBytes < message.length) return null;
      this.#message = null;
      if (!this.onMessage(message, 0, message.length, true)) return Buffer.concat([message, chunk.subarray(offset)]);
    }
    while (chunk.length - offset >= LENGTH_BYTES) {
      const length = checked(chunk.readUInt32BE(offset));
      if (length > chunk.length - offset) {
        this.#message = Buffer.allocUnsafe(length);
        this.#messageBytes = chunk.copy(this.#message, 0, offset);
        return null;
      }
      if (!this.onMessage(chunk, offset, offset + length, false)) return chunk.subarray(offset);
      offset += length;
    }
    this.#wordBytes = chunk.copy(this.#word, 0, offset);
    return null;
  }

  /**
   * Adds the first bytes of `chunk` to the incomplete message of the earlier chunks.
   * @returns the number of bytes that it used.
   */
  #continue(chunk: Buffer): number {
    let offset = 0;
    if (this.#message === null) {
      offset = Math.min(LENGTH_BYTES - this.#wordBytes, chunk.length);
      chunk.copy(this.#word, this.#wordBytes, 0, offset);
      this.#wordBytes += offset;
      if (this.#wordBytes < LENGTH_BYTES) return offset;
      this.#message = Buffer.allocUnsafe(checked(this.#word.readUInt32BE(0)));
      this.#word.copy(this.#message);
      this.#messageBytes = LENGTH_BYTES;
      this.#wordBytes = 0;
    }
    const copied = chunk.copy(this.#message, this.#messageBytes, offset);
    this.#messageBytes += copied;
    return offset + copied;
  }
}

function checked(length: number): number {
  if (length >= HEADER_BYTES && length <= MAX_MESSAGE_BYTES) return length;
  throw new XdrError(`message of ${length} bytes: the valid range is ${HEADER_BYTES} to ${MAX_MESSAGE_BYTES}`);
}
