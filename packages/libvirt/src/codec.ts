/** Codecs of XDR. A codec encodes and decodes one type, and codecs can be combined. */
import { XdrError, type XdrReader, type XdrWriter } from './xdr.js';

/**
 * Encoder and decoder of one type. `encode` throws an {@link XdrError} for a value that it cannot encode, and a
 * RangeError for a number that is too large or too small. `decode` throws an {@link XdrError} for malformed data.
 */
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

/** Defines an optional value, `type *name`. */
export const optional = <T>(codec: Codec<T>): Codec<T | null> => ({
  encode: (w, v) => {
    w.int32(v === null ? 0 : 1);
    if (v !== null) codec.encode(w, v);
  },
  decode: (r) => (r.int32() === 0 ? null : codec.decode(r)),
});

/** Defines an array with its length, `type name<>`. */
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

/** Defines a struct. The properties are encoded in the order of the object literal. */
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
