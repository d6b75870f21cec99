import { describe, expect, it } from '@jest/globals';
import { XdrError, XdrReader, XdrWriter } from '../xdr.js';
import { flags, hyperNumber, uhyperNumber } from './integer.js';

const round = (codec: typeof flags, value: number): number => {
  const writer = new XdrWriter();
  codec.encode(writer, value);
  return codec.decode(new XdrReader(writer.finish()));
};

describe('64-bit integers as numbers', () => {
  it('preserve safe integers', () => {
    expect(round(uhyperNumber, Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER);
    expect(round(hyperNumber, -1)).toBe(-1);
  });

  it('reject values that are not exact, when they are sent', () => {
    expect(() => round(uhyperNumber, 2 ** 53)).toThrow(XdrError);
    expect(() => round(uhyperNumber, 0.5)).toThrow(XdrError);
  });

  it('are rounded if a received value is not exact', () => {
    const writer = new XdrWriter();
    writer.uint64(2n ** 64n - 1n);
    expect(uhyperNumber.decode(new XdrReader(writer.finish()))).toBe(2 ** 64);
  });
});

describe('a flag word', () => {
  it('accepts bit 31 as `|` returns it', () => {
    expect(round(flags, 0x8000_0000 | 1)).toBe(0x8000_0001);
  });
});
