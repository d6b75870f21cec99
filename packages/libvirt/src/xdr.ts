/**
 * XDR encoding (RFC 4506) of libvirt's messages. Integers are big-endian; all values are padded to
 * a multiple of four bytes.
 */

/**
 * Maximum size of a libvirt message in bytes, including the length word.
 * @see VIR_NET_MESSAGE_MAX
 */
export const MAX_MESSAGE_BYTES = 33_554_432;

/** The error of a message that is malformed or truncated, or that cannot be encoded. */
export class XdrError extends Error {
  override readonly name = 'XdrError';
}

const padded = (length: number): number => (length + 3) & ~3;

/**
 * Growing buffer of encoded messages. Small messages share one memory block. Buffers from
 * `finish()` remain valid. Each write throws an {@link XdrError} if the message becomes too large, and a RangeError
 * for a number that does not fit into its type.
 */
export class XdrWriter {
  #slab: Buffer;
  /** Start and end of the bytes that `finish()` has not returned yet. */
  #start = 0;
  #end = 0;
  /** Start of the current message. The size limit counts from here. */
  #frame = 0;

  constructor(private readonly slabBytes = 512) {
    this.#slab = Buffer.allocUnsafe(slabBytes);
  }

  /** Number of bytes that `finish()` has not returned yet. */
  get length(): number {
    return this.#end - this.#start;
  }

  #reserve(bytes: number): number {
    const offset = this.#end;
    const end = offset + bytes;
    const size = end - this.#frame;
    if (size > MAX_MESSAGE_BYTES)
      throw new XdrError(`message of ${size} bytes exceeds the limit of ${MAX_MESSAGE_BYTES}`);
    this.#end = end;
    return end > this.#slab.length ? this.#grow(offset) : offset;
  }

  /**
   * Moves the bytes that `finish()` has not returned to a new block. Returns the new value of `offset`.
   */
  #grow(offset: number): number {
    const start = this.#start;
    const moved = offset - start;
    const slab = Buffer.allocUnsafe(Math.max(this.slabBytes, (this.#end - start) * 2));
    this.#slab.copy(slab, 0, start, offset);
    this.#slab = slab;
    this.#end -= start;
    this.#frame -= start;
    this.#start = 0;
    return moved;
  }

  int32(value: number): void {
    const offset = this.#reserve(4);
    this.#slab.writeInt32BE(value, offset);
  }

  uint32(value: number): void {
    const offset = this.#reserve(4);
    this.#slab.writeUInt32BE(value, offset);
  }

  int64(value: bigint): void {
    const offset = this.#reserve(8);
    this.#slab.writeBigInt64BE(value, offset);
  }

  uint64(value: bigint): void {
    const offset = this.#reserve(8);
    this.#slab.writeBigUInt64BE(value, offset);
  }

  double(value: number): void {
    const offset = this.#reserve(8);
    this.#slab.writeDoubleBE(value, offset);
  }

  /** Writes bytes without a length. */
  fixed(bytes: Uint8Array): void {
    const offset = this.#reserve(padded(bytes.length));
    this.#slab.set(bytes, offset);
    this.#slab.fill(0, offset + bytes.length, offset + padded(bytes.length));
  }

  /** Writes the length and the bytes. */
  variable(bytes: Uint8Array): void {
    this.uint32(bytes.length);
    this.fixed(bytes);
  }

  /** Writes the length in bytes and the UTF-8 text. */
  text(value: string): void {
    const bytes = Buffer.byteLength(value, 'utf8');
    this.uint32(bytes);
    const offset = this.#reserve(padded(bytes));
    this.#slab.write(value, offset, bytes, 'utf8');
    this.#slab.fill(0, offset + bytes, offset + padded(bytes));
  }

  /** Starts a message, with space for its length. */
  openFrame(): void {
    this.#frame = this.#end;
    this.uint32(0);
  }

  /**
   * Ends the message and writes its length.
   * @param following number of further bytes that the caller sends as part of the message.
   */
  closeFrame(following = 0): void {
    this.#slab.writeUInt32BE(this.#end - this.#frame + following, this.#frame);
    this.#frame = this.#end;
  }

  /** Drops the current message, but not earlier messages. */
  cancelFrame(): void {
    this.#end = this.#frame;
  }

  /** Returns all bytes since the last `finish()`. The buffer remains valid. */
  finish(): Buffer {
    const bytes = this.#slab.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#frame = this.#end;
    return bytes;
  }
}

/**
 * Reads the values of a message in order. Each read throws an {@link XdrError} if the message is
 * too short.
 */
export class XdrReader {
  #offset: number;

  /** Creates a reader for the bytes from `start` to before `end`. */
  constructor(
    readonly buffer: Buffer,
    start = 0,
    readonly end = buffer.length,
  ) {
    this.#offset = start;
  }

  /** Number of bytes that were not read yet. */
  get remaining(): number {
    return this.end - this.#offset;
  }

  #take(bytes: number): number {
    const start = this.#offset;
    if (bytes > this.end - start) throw new XdrError(`message has ${this.end - start} bytes left, expected ${bytes}`);
    this.#offset = start + bytes;
    return start;
  }

  int32(): number {
    return this.buffer.readInt32BE(this.#take(4));
  }

  uint32(): number {
    return this.buffer.readUInt32BE(this.#take(4));
  }

  int64(): bigint {
    return this.buffer.readBigInt64BE(this.#take(8));
  }

  uint64(): bigint {
    return this.buffer.readBigUInt64BE(this.#take(8));
  }

  double(): number {
    return this.buffer.readDoubleBE(this.#take(8));
  }

  /** Returns a view, which is valid only as long as the message. */
  fixed(length: number): Buffer {
    const offset = this.#take(padded(length));
    return this.buffer.subarray(offset, offset + length);
  }

  /** Returns a view, which is valid only as long as the message. @throws {XdrError} if it is too long or incomplete. */
  variable(maxBytes = MAX_MESSAGE_BYTES): Buffer {
    const length = this.uint32();
    if (length > maxBytes) throw new XdrError(`${length} bytes exceed the limit of ${maxBytes}`);
    return this.fixed(length);
  }

  /** Reads the length in bytes and the UTF-8 text. @throws {XdrError} if it is too long or incomplete. */
  text(): string {
    const length = this.uint32();
    if (length > MAX_MESSAGE_BYTES) throw new XdrError(`text of ${length} bytes`);
    const offset = this.#take(padded(length));
    return this.buffer.toString('utf8', offset, offset + length);
  }

  /** Returns a view of all remaining bytes. */
  rest(): Buffer {
    const offset = this.#take(this.remaining);
    return this.buffer.subarray(offset, this.end);
  }
}
