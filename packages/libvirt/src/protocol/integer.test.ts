import { describe, expect, it } from '@jest/globals';
import { XdrError, XdrReader, XdrWriter } from '../xdr.js';
import { flags, hyperNumber, uhyperNumber } from './integer.js';

const round = (codec: typeof flags, value: number): number => {
  const writer = new XdrWriter();
  codec.encode(writer, value);
  return codec.decode(new XdrReader(writer.finish()));
};

describe('64-bit integers as numbers', () => {
  it('keep every safe integer exactly', () => {
    expect(round(uhyperNumber, Number.MAX_SAFE_INTEGER)).toBe(Number.MAX_SAFE_INTEGER);
    expect(round(hyperNumber, -1)).toBe(-1);
  });

  it('refuse to send what is not exact', () => {
    expect(() => round(uhyperNumber, 2 ** 53)).toThrow(XdrError);
    expect(() => round(uhyperNumber, 0.5)).toThrow(XdrError);
  });

  it('read larger values rounded, not wrapped', () => {
    const writer = new XdrWriter();
    writer.uint64(2n ** 64n - 1n);
    expect(uhyperNumber.decode(new XdrReader(writer.finish()))).toBe(2 ** 64);
  });
});

describe('a flag word', () => {
  it('takes what `|` makes of bit 31', () => {
    expect(round(flags, 0x8000_0000 | 1)).toBe(0x8000_0001);
  });
});
