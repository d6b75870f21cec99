/**
 * XDR (RFC 4506) as libvirt uses it: a codec is a value that writes and reads one type, and codecs compose.
 * All integers are big-endian; everything is padded to four bytes.
 */

/** The most bytes one libvirt message may have, its length word included. @see VIR_NET_MESSAGE_MAX */
export const MAX_MESSAGE_BYTES = 33_554_432;

/** A malformed or truncated message. */
export class XdrError extends Error {
  override readonly name = 'XdrError';
}

/** Writes one type with `encode`, reads it back with `decode`. */
export interface Codec<T> {
  encode(writer: XdrWriter, value: T): void;
  decode(reader: XdrReader): T;
}

/** Any codec, whatever its type. */
export interface AnyCodec {
  encode(writer: XdrWriter, value: never): void;
  decode(reader: XdrReader): unknown;
}

/** The type that a codec carries: `Value<typeof struct>`. */
export type Value<C> = C extends Codec<infer T> ? T : never;

const padded = (length: number): number => (length + 3) & ~3;

/**
 * A growing buffer. Small messages share one slab: what `finish()` gave stays valid, the next message is written behind it.
 */
export class XdrWriter {
  #slab: Buffer;
  /** Where the bytes begin that `finish()` has not given out yet, and where they end. */
  #start = 0;
  #end = 0;
  /** Where the open frame begins; the size limit counts from here. */
  #frame = 0;

  constructor(private readonly slabBytes = 512) {
    this.#slab = Buffer.allocUnsafe(slabBytes);
  }

  /** Bytes written and not yet given out by `finish()`. */
  get length(): number {
    return this.#end - this.#start;
  }

  #reserve(bytes: number): number {
    const at = this.#end;
    const end = at + bytes;
    const size = end - this.#frame;
    if (size > MAX_MESSAGE_BYTES)
      throw new XdrError(`message of ${size} bytes is over the limit of ${MAX_MESSAGE_BYTES}`);
    this.#end = end;
    return end > this.#slab.length ? this.#grow(at) : at;
  }

  /** Moves what is not given out yet to a new slab; `at` moves along. */
  #grow(at: number): number {
    const start = this.#start;
    const kept = at - start;
    const slab = Buffer.allocUnsafe(Math.max(this.slabBytes, (this.#end - start) * 2));
    this.#slab.copy(slab, 0, start, at);
    this.#slab = slab;
    this.#end -= start;
    this.#frame -= start;
    this.#start = 0;
    return kept;
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

  /** Bytes without a length, padded to four. */
  fixed(bytes: Uint8Array): void {
    const at = this.#reserve(padded(bytes.length));
    this.#slab.set(bytes, at);
    this.#slab.fill(0, at + bytes.length, at + padded(bytes.length));
  }

  /** Bytes after their length, padded to four. */
  variable(bytes: Uint8Array): void {
    this.uint32(bytes.length);
    this.fixed(bytes);
  }

  /** UTF-8 text after its length in bytes, padded to four; encoded in place, without a buffer in between. */
  text(value: string): void {
    const bytes = Buffer.byteLength(value, 'utf8');
    this.uint32(bytes);
    const at = this.#reserve(padded(bytes));
    this.#slab.write(value, at, bytes, 'utf8');
    this.#slab.fill(0, at + bytes, at + padded(bytes));
  }

  /** Begins a message that starts with its own length. */
  openFrame(): void {
    this.#frame = this.#end;
    this.uint32(0);
  }

  /**
   * Ends the message: its length word is filled in.
   * @param following bytes of the message that are sent after what is written here.
   */
  closeFrame(following = 0): void {
    this.#slab.writeUInt32BE(this.#end - this.#frame + following, this.#frame);
    this.#frame = this.#end;
  }

  /** Drops the message that was begun; earlier ones stay. */
  cancelFrame(): void {
    this.#end = this.#frame;
  }

  /** What was written since the last `finish()`, as a view that stays valid. */
  finish(): Buffer {
    const bytes = this.#slab.subarray(this.#start, this.#end);
    this.#start = this.#end;
    this.#frame = this.#end;
    return bytes;
  }
}

/** Reads a message front to back; every read checks that the bytes are there. */
export class XdrReader {
  #offset: number;

  /** Reads `buffer` from byte `start` up to, not including, byte `end`. */
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
    if (bytes > this.end - start)
      throw new XdrError(`message ends ${this.end - start} bytes ahead, ${bytes} were expected`);
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

  /** A view: valid only while the message is. */
  fixed(length: number): Buffer {
    const at = this.#take(padded(length));
    return this.buffer.subarray(at, at + length);
  }

  /** A view: valid only while the message is. */
  variable(maxBytes = MAX_MESSAGE_BYTES): Buffer {
    const length = this.uint32();
    if (length > maxBytes) throw new XdrError(`${length} bytes where at most ${maxBytes} are allowed`);
    return this.fixed(length);
  }

  /** UTF-8 text after its length in bytes. */
  text(): string {
    const length = this.uint32();
    if (length > MAX_MESSAGE_BYTES) throw new XdrError(`text of ${length} bytes`);
    const at = this.#take(padded(length));
    return this.buffer.toString('utf8', at, at + length);
  }

  /** What is left, padded or not; a view. */
  rest(): Buffer {
    const at = this.#take(this.remaining);
    return this.buffer.subarray(at, this.end);
  }
}

/** Decodes all that `reader` holds; bytes left over mean that the codec and the peer disagree. */
export function decodeWholly<T>(codec: Codec<T>, reader: XdrReader): T {
  const value = codec.decode(reader);
  if (reader.remaining > 0) throw new XdrError(`${reader.remaining} bytes are left over`);
  return value;
}

export const int: Codec<number> = { encode: (w, v) => w.int32(v), decode: (r) => r.int32() };
export const uint: Codec<number> = { encode: (w, v) => w.uint32(v), decode: (r) => r.uint32() };
export const bool: Codec<boolean> = { encode: (w, v) => w.int32(v ? 1 : 0), decode: (r) => r.int32() !== 0 };
export const double: Codec<number> = { encode: (w, v) => w.double(v), decode: (r) => r.double() };
/** A signed 64-bit integer, exact. */
export const hyper: Codec<bigint> = { encode: (w, v) => w.int64(v), decode: (r) => r.int64() };
/** An unsigned 64-bit integer, exact. */
export const uhyper: Codec<bigint> = { encode: (w, v) => w.uint64(v), decode: (r) => r.uint64() };
/** UTF-8 text. */
export const string: Codec<string> = { encode: (w, v) => w.text(v), decode: (r) => r.text() };
/** Variable-length bytes; what is read is a copy, so it outlives the message buffer. */
export const opaque: Codec<Uint8Array> = {
  encode: (w, v) => w.variable(v),
  decode: (r) => Buffer.from(r.variable()),
};
/** Nothing at all: procedures without arguments or results. */
export const nothing: Codec<undefined> = { encode: () => undefined, decode: () => undefined };

/** `opaque name[length]`: bytes without a length word (a UUID has 16). */
export const fixedOpaque = (length: number): Codec<Uint8Array> => ({
  encode: (w, v) => {
    if (v.length !== length) throw new XdrError(`${v.length} bytes where ${length} are due`);
    w.fixed(v);
  },
  decode: (r) => Buffer.from(r.fixed(length)),
});

/** `type *name`: an optional value. */
export const optional = <T>(codec: Codec<T>): Codec<T | null> => ({
  encode: (w, v) => {
    w.int32(v === null ? 0 : 1);
    if (v !== null) codec.encode(w, v);
  },
  decode: (r) => (r.int32() === 0 ? null : codec.decode(r)),
});

/** `type name<>`: a counted array. */
export const array = <T>(codec: Codec<T>): Codec<readonly T[]> => ({
  encode: (w, v) => {
    w.uint32(v.length);
    for (const item of v) codec.encode(w, item);
  },
  decode: (r) => {
    const count = r.uint32();
    // Every element takes at least four bytes: a larger count is a lie, refused before the array is made.
    if (count * 4 > r.remaining) throw new XdrError(`array of ${count} elements in ${r.remaining} bytes`);
    return Array.from({ length: count }, () => codec.decode(r));
  },
});

/** A struct, its members in the order of the literal. */
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
