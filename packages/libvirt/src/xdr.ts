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

/** A growing buffer; `finish()` gives what was written, as a view that stays valid. */
export class XdrWriter {
  #buffer: Buffer;
  #length = 0;

  constructor(initialBytes = 512) {
    this.#buffer = Buffer.alloc(initialBytes);
  }

  #reserve(bytes: number): number {
    const start = this.#length;
    const end = start + bytes;
    if (end > MAX_MESSAGE_BYTES) throw new XdrError(`message of ${end} bytes is over the limit of ${MAX_MESSAGE_BYTES}`);
    if (end > this.#buffer.length) {
      const grown = Buffer.alloc(Math.max(end, this.#buffer.length * 2));
      this.#buffer.copy(grown, 0, 0, start);
      this.#buffer = grown;
    }
    this.#length = end;
    return start;
  }

  int32(value: number): void {
    const at = this.#reserve(4);
    this.#buffer.writeInt32BE(value, at);
  }

  uint32(value: number): void {
    const at = this.#reserve(4);
    this.#buffer.writeUInt32BE(value, at);
  }

  int64(value: bigint): void {
    const at = this.#reserve(8);
    this.#buffer.writeBigInt64BE(value, at);
  }

  uint64(value: bigint): void {
    const at = this.#reserve(8);
    this.#buffer.writeBigUInt64BE(value, at);
  }

  double(value: number): void {
    const at = this.#reserve(8);
    this.#buffer.writeDoubleBE(value, at);
  }

  /** Bytes without a length, padded to four. */
  fixed(bytes: Uint8Array): void {
    const at = this.#reserve(padded(bytes.length));
    this.#buffer.set(bytes, at);
    this.#buffer.fill(0, at + bytes.length, at + padded(bytes.length));
  }

  /** Bytes after their length, padded to four. */
  variable(bytes: Uint8Array): void {
    this.uint32(bytes.length);
    this.fixed(bytes);
  }

  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}

/** Reads a message front to back; every read checks that the bytes are there. */
export class XdrReader {
  #offset = 0;

  constructor(readonly buffer: Buffer) {}

  get remaining(): number {
    return this.buffer.length - this.#offset;
  }

  #take(bytes: number): number {
    const start = this.#offset;
    if (bytes > this.remaining) throw new XdrError(`message ends at byte ${this.buffer.length}, ${bytes} more were expected`);
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

  fixed(length: number): Buffer {
    const at = this.#take(padded(length));
    return this.buffer.subarray(at, at + length);
  }

  variable(maxBytes = MAX_MESSAGE_BYTES): Buffer {
    const length = this.uint32();
    if (length > maxBytes) throw new XdrError(`${length} bytes where at most ${maxBytes} are allowed`);
    return this.fixed(length);
  }

  rest(): Buffer {
    return this.fixed(this.remaining);
  }
}

export const int: Codec<number> = { encode: (w, v) => w.int32(v), decode: (r) => r.int32() };
export const uint: Codec<number> = { encode: (w, v) => w.uint32(v), decode: (r) => r.uint32() };
export const bool: Codec<boolean> = { encode: (w, v) => w.int32(v ? 1 : 0), decode: (r) => r.int32() !== 0 };
export const double: Codec<number> = { encode: (w, v) => w.double(v), decode: (r) => r.double() };
/** A signed 64-bit integer, exact. */
export const hyper: Codec<bigint> = { encode: (w, v) => w.int64(v), decode: (r) => r.int64() };
/** An unsigned 64-bit integer, exact. */
export const uhyper: Codec<bigint> = { encode: (w, v) => w.uint64(v), decode: (r) => r.uint64() };
export const string: Codec<string> = {
  encode: (w, v) => w.variable(Buffer.from(v, 'utf8')),
  decode: (r) => r.variable().toString('utf8'),
};
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
