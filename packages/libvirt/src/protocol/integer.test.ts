import { describe, expect, it } from '@jest/globals';
import { XdrError, XdrReader, XdrWriter } from '../xdr.js';
import { flags, hyperNumber, uhyperNumber } from './integer.js';

/** Encodes a value, and returns the decoded result. */
const roundTrip = (codec: typeof flags, value: number): number => {
  const writer = new XdrWriter();
  codec.encode(writer, value);
  return codec.decode(new XdrReader(writer.finish()));
};

describe('64-bit integers as numbers', () => {
  it('are the same after encoding and decoding, if they are safe integers', () => {
    expect(roundTrip(uhyperNumber, Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER);
    expect(roundTrip(hyperNumber, -1)).toBe(-1);
  });

  it('are rejected when they are encoded, if they are not safe integers', () => {
    expect(() => roundTrip(uhyperNumber, 2 ** 53)).toThrow(XdrError);
    expect(() => roundTrip(uhyperNumber, 0.5)).toThrow(XdrError);
  });

  it('are rounded when they are decoded, if a number cannot represent the value', () => {
    const writer = new XdrWriter();
    writer.uint64(2n ** 64n - 1n);
    expect(uhyperNumber.decode(new XdrReader(writer.finish()))).toBe(2 ** 64);
  });
});

describe('a flag word', () => {
  it('may be the negative number that `|` returns for bit 31', () => {
    expect(roundTrip(flags, 0x8000_0000 | 1)).toBe(0x8000_0001);
  });
});
