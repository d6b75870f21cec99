/**
 * XDR encoding (RFC 4506) of libvirt's messages. A codec encodes and decodes one type, and codecs
 * can be combined. Integers are big-endian; all values are padded to a multiple of four bytes.
 */

/**
 * Maximum size of a libvirt message in bytes, including the length word.
 * @see VIR_NET_MESSAGE_MAX
 */
export const MAX_MESSAGE_BYTES = 33_554_432;

/** Error: a malformed or truncated message. */
export class XdrError extends Error {
  override readonly name = 'XdrError';
}

/** Encoder and decoder of one type. */
export interface Codec<T> {
  encode(writer: XdrWriter, value: T): void;
  decode(reader: XdrReader): T;
}

/** Codec of any type. */
export interface AnyCodec {
  encode(writer: XdrWriter, value: never): void;
  decode(reader: XdrReader): unknown;
}

/** Type of the values of a codec: `Value<typeof struct>`. */
export type Value<C> = C extends Codec<infer T> ? T : never;

const padded = (length: number): number => (length + 3) & ~3;

/**
 * Growing buffer of encoded messages. Small messages share one memory block. Buffers from
 * `finish()` remain valid.
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
    const at = this.#end;
    const end = at + bytes;
    const size = end - this.#frame;
    if (size > MAX_MESSAGE_BYTES)
      throw new XdrError(`message of ${size} bytes exceeds the limit of ${MAX_MESSAGE_BYTES}`);
    this.#end = end;
    return end > this.#slab.length ? this.#grow(at) : at;
  }

  /**
   * Moves the bytes that `finish()` has not returned to a new block. Returns the new value of `at`.
   */
  #grow(at: number): number {
    const start = this.#start;
    const moved = at - start;
    const slab = Buffer.allocUnsafe(Math.max(this.slabBytes, (this.#end - start) * 2));
    this.#slab.copy(slab, 0, start, at);
    this.#slab = slab;
    this.#end -= start;
    this.#frame -= start;
    this.#start = 0;
    return moved;
  }

  int32(value: number): void {
    const at = this.#reserve(4);
    this.#slab.writeInt32BE(value, at);
  }

  uint32(value: number): void {
    const at = this.#reserve(4);
    this.#slab.writeUInt32BE(value, at);
  }

  int64(value: bigint): void {
    const at = this.#reserve(8);
    this.#slab.writeBigInt64BE(value, at);
  }

  uint64(value: bigint): void {
    const at = this.#reserve(8);
    this.#slab.writeBigUInt64BE(value, at);
  }

  double(value: number): void {
    const at = this.#reserve(8);
    this.#slab.writeDoubleBE(value, at);
  }

  /** Writes bytes without a length. */
  fixed(bytes: Uint8Array): void {
    const at = this.#reserve(padded(bytes.length));
    this.#slab.set(bytes, at);
    this.#slab.fill(0, at + bytes.length, at + padded(bytes.length));
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
    const at = this.#reserve(padded(bytes));
    this.#slab.write(value, at, bytes, 'utf8');
    this.#slab.fill(0, at + bytes, at + padded(bytes));
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
    const at = this.#take(padded(length));
    return this.buffer.subarray(at, at + length);
  }

  /** Returns a view, which is valid only as long as the message. */
  variable(maxBytes = MAX_MESSAGE_BYTES): Buffer {
    const length = this.uint32();
    if (length > maxBytes) throw new XdrError(`${length} bytes exceed the limit of ${maxBytes}`);
    return this.fixed(length);
  }

  /** Reads the length in bytes and the UTF-8 text. */
  text(): string {
    const length = this.uint32();
    if (length > MAX_MESSAGE_BYTES) throw new XdrError(`text of ${length} bytes`);
    const at = this.#take(padded(length));
    return this.buffer.toString('utf8', at, at + length);
  }

  /** Returns a view of all remaining bytes. */
  rest(): Buffer {
    const at = this.#take(this.remaining);
    return this.buffer.subarray(at, this.end);
  }
}

/**
 * Decodes a value and checks that no bytes remain.
 * @throws {XdrError} if the data does not match the codec.
 */
export function decodeExactly<T>(codec: Codec<T>, reader: XdrReader): T {
  const value = codec.decode(reader);
  if (reader.remaining > 0) throw new XdrError(`${reader.remaining} unexpected bytes at the end`);
  return value;
}

/** A signed 32-bit integer. */
export const int: Codec<number> = { encode: (w, v) => w.int32(v), decode: (r) => r.int32() };
/** An unsigned 32-bit integer. */
export const uint: Codec<number> = { encode: (w, v) => w.uint32(v), decode: (r) => r.uint32() };
/** A boolean; any number other than 0 is true. */
export const bool: Codec<boolean> = { encode: (w, v) => w.int32(v ? 1 : 0), decode: (r) => r.int32() !== 0 };
/** A 64-bit floating-point number. */
export const double: Codec<number> = { encode: (w, v) => w.double(v), decode: (r) => r.double() };
/** A signed 64-bit integer. */
export const hyper: Codec<bigint> = { encode: (w, v) => w.int64(v), decode: (r) => r.int64() };
/** An unsigned 64-bit integer. */
export const uhyper: Codec<bigint> = { encode: (w, v) => w.uint64(v), decode: (r) => r.uint64() };
/** UTF-8 text. */
export const string: Codec<string> = { encode: (w, v) => w.text(v), decode: (r) => r.text() };
/** Bytes of variable length. Decoding returns a copy, which remains valid after the message. */
export const opaque: Codec<Uint8Array> = {
  encode: (w, v) => w.variable(v),
  decode: (r) => Buffer.from(r.variable()),
};
/** No data: for procedures without arguments or results. */
export const nothing: Codec<undefined> = { encode: () => undefined, decode: () => undefined };

/** Bytes of a fixed length, `opaque name[length]`. A UUID has 16. */
export const fixedOpaque = (length: number): Codec<Uint8Array> => ({
  encode: (w, v) => {
    if (v.length !== length) throw new XdrError(`${v.length} bytes, expected ${length}`);
    w.fixed(v);
  },
  decode: (r) => Buffer.from(r.fixed(length)),
});

/** An optional value, `type *name`. */
export const optional = <T>(codec: Codec<T>): Codec<T | null> => ({
  encode: (w, v) => {
    w.int32(v === null ? 0 : 1);
    if (v !== null) codec.encode(w, v);
  },
  decode: (r) => (r.int32() === 0 ? null : codec.decode(r)),
});

/** An array with its length, `type name<>`. */
export const array = <T>(codec: Codec<T>): Codec<readonly T[]> => ({
  encode: (w, v) => {
    w.uint32(v.length);
    for (const item of v) codec.encode(w, item);
  },
  decode: (r) => {
    const count = r.uint32();
    // Each element has at least four bytes. This check prevents a huge allocation.
    if (count * 4 > r.remaining) throw new XdrError(`array of ${count} elements in ${r.remaining} bytes`);
    return Array.from({ length: count }, () => codec.decode(r));
  },
});

/** A struct. The properties are encoded in the order of the object literal. */
export const struct = <S extends Record<string, AnyCodec>>(members: S): Codec<{ [K in keyof S]: Value<S[K]> }> => {
  const entries = Object.entries(members) as unknown as readonly [string, Codec<unknown>][];
  return {
    encode: (w, v) => {
      const record = v as Record<string, unknown>;
      for (const [key, codec] of entries) codec.encode(w, record[key]);
    },
    decode: (r) => {
      const record: Record<string, unknown> = {};
      for (const [key, codec] of entries) record[key] = codec.decode(r);
      return record as { [K in keyof S]: Value<S[K]> };
    },
  };
};
