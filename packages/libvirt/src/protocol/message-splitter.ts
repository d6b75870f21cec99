import { MAX_MESSAGE_BYTES, XdrError } from '../xdr.js';
import { HEADER_BYTES } from './message.js';

/**
 * Takes one message, in `buffer` from `start` up to `end`, its length word included. It is valid only during the call, unless
 * `owned`: then nobody else will write to these bytes.
 * @returns false to refuse it for now: it comes again, first, in what `push` returns.
 */
export type TakeMessage = (buffer: Buffer, start: number, end: number, owned: boolean) => boolean;

const LENGTH_BYTES = 4;

/** Cuts a sequence of chunks into messages; a message inside one chunk is never copied. */
export class MessageSplitter {
  readonly #word = Buffer.alloc(LENGTH_BYTES);
  #wordBytes = 0;
  /** A message that began in an earlier chunk, and how much of it is there. */
  #message: Buffer | null = null;
  #messageBytes = 0;

  constructor(private readonly take: TakeMessage) {}

  /**
   * @returns null, or what is left from the first refused message on; nothing after it was looked at.
   * @throws {XdrError} when a message announces an impossible length; the connection is then of no more use.
   */
  push(chunk: Buffer): Buffer | null {
    let at = 0;
    if (this.#message !== null || this.#wordBytes > 0) {
      at = this.#continue(chunk);
      const message = this.#message;
      if (message === null || this.#messageBytes < message.length) return null;
      this.#message = null;
      if (!this.take(message, 0, message.length, true)) return Buffer.concat([message, chunk.subarray(at)]);
    }
    while (chunk.length - at >= LENGTH_BYTES) {
      const length = checked(chunk.readUInt32BE(at));
      if (length > chunk.length - at) {
        this.#message = Buffer.allocUnsafe(length);
        this.#messageBytes = chunk.copy(this.#message, 0, at);
        return null;
      }
      if (!this.take(chunk, at, at + length, false)) return chunk.subarray(at);
      at += length;
    }
    this.#wordBytes = chunk.copy(this.#word, 0, at);
    return null;
  }

  /** Fills the begun message from the start of `chunk`. @returns how many bytes that took. */
  #continue(chunk: Buffer): number {
    let at = 0;
    if (this.#message === null) {
      at = Math.min(LENGTH_BYTES - this.#wordBytes, chunk.length);
      chunk.copy(this.#word, this.#wordBytes, 0, at);
      this.#wordBytes += at;
      if (this.#wordBytes < LENGTH_BYTES) return at;
      this.#message = Buffer.allocUnsafe(checked(this.#word.readUInt32BE(0)));
      this.#word.copy(this.#message);
      this.#messageBytes = LENGTH_BYTES;
      this.#wordBytes = 0;
    }
    const copied = chunk.copy(this.#message, this.#messageBytes, at);
    this.#messageBytes += copied;
    return at + copied;
  }
}

function checked(length: number): number {
  if (length >= HEADER_BYTES && length <= MAX_MESSAGE_BYTES) return length;
  throw new XdrError(`message of ${length} bytes: ${HEADER_BYTES} to ${MAX_MESSAGE_BYTES} are possible`);
}
