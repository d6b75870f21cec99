import { type Codec, XdrError } from '../xdr.js';

/**
 * A 64-bit integer as a JavaScript number: sizes in bytes or KiB, offsets, seconds, versions. A value that a number can not
 * hold exactly (2^53 and up: 8 PiB) is read rounded, never wrapped; counters that reach such values use `hyper`/`uhyper`.
 */
export const hyperNumber: Codec<number> = {
  encode: (writer, value) => writer.int64(exact(value)),
  decode: (reader) => Number(reader.int64()),
};

/** As {@link hyperNumber}, unsigned. */
export const uhyperNumber: Codec<number> = {
  encode: (writer, value) => writer.uint64(exact(value)),
  decode: (reader) => Number(reader.uint64()),
};

/** A flag word. `|` makes a negative number where bit 31 is set, which is the same word. */
export const flags: Codec<number> = {
  encode: (writer, value) => writer.uint32(value >>> 0),
  decode: (reader) => reader.uint32(),
};

function exact(value: number): bigint {
  // Sending a rounded offset or size would damage data: refuse it.
  if (!Number.isSafeInteger(value)) throw new XdrError(`${value} is not an exact integer`);
  return BigInt(value);
}
