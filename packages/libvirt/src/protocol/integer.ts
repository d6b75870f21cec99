import { XdrError } from '../xdr.js';
import type { Codec } from '../codec.js';

/**
 * A signed 64-bit integer as a number, for sizes, offsets, seconds and versions. Values from 2^53
 * (8 PiB) may be rounded when read and are rejected when sent. Use `hyper` and `uhyper` for counters
 * that reach such values.
 */
export const hyperNumber: Codec<number> = {
  encode: (writer, value) => writer.int64(exact(value)),
  decode: (reader) => Number(reader.int64()),
};

/** An unsigned 64-bit integer, like {@link hyperNumber}. */
export const uhyperNumber: Codec<number> = {
  encode: (writer, value) => writer.uint64(exact(value)),
  decode: (reader) => Number(reader.uint64()),
};

/**
 * Flags in 32 bits. Accepts negative numbers, because `|` returns a negative number if bit 31 is
 * set.
 */
export const flags: Codec<number> = {
  encode: (writer, value) => writer.uint32(value >>> 0),
  decode: (reader) => reader.uint32(),
};

function exact(value: number): bigint {
  // A rounded offset or size could damage data.
  if (!Number.isSafeInteger(value)) throw new XdrError(`${value} is not an exact integer`);
  return BigInt(value);
}
