import { describe, expect, it } from '@jest/globals';
import { MAX_MESSAGE_BYTES, XdrError, XdrReader, XdrWriter } from './xdr.js';
import {
  array,
  bool,
  type Codec,
  double,
  fixedOpaque,
  hyper,
  int,
  opaque,
  optional,
  string,
  struct,
  uhyper,
  uint,
} from './codec.js';

const encoded = <T>(codec: Codec<T>, value: T): Buffer => {
  const writer = new XdrWriter();
  codec.encode(writer, value);
  return writer.finish();
};
const roundTrip = <T>(codec: Codec<T>, value: T): T => codec.decode(new XdrReader(encoded(codec, value)));

describe('XDR values', () => {
  it('are big-endian and padded to a multiple of four bytes', () => {
    expect(encoded(int, -2).toString('hex')).toBe('fffffffe');
    expect(encoded(hyper, 1n).toString('hex')).toBe('0000000000000001');
    expect(encoded(string, 'abcde').toString('hex')).toBe('000000056162636465000000');
    expect(encoded(fixedOpaque(3), Buffer.from('abc')).toString('hex')).toBe('61626300');
    expect(encoded(optional(int), null).toString('hex')).toBe('00000000');
  });

  it('are the same after encoding and decoding', () => {
    const codec = struct({
      small: int,
      large: uhyper,
      negative: hyper,
      flag: bool,
      ratio: double,
      text: string,
      bytes: opaque,
      absent: optional(string),
      list: array(uint),
    });
    const value = {
      small: -2_147_483_648,
      large: 2n ** 64n - 1n,
      negative: -(2n ** 63n),
      flag: true,
      ratio: 0.1,
      text: 'Zoë — 仮想マシン 🖥',
      bytes: Buffer.from([1, 2, 3, 4, 5]),
      absent: null,
      list: [0, 4_294_967_295],
    };
    expect(roundTrip(codec, value)).toEqual(value);
  });

  it('have their own copy of opaque bytes after decoding', () => {
    const message = encoded(opaque, Buffer.from('data'));
    const bytes = opaque.decode(new XdrReader(message));
    message.fill(0);
    expect(Buffer.from(bytes).toString()).toBe('data');
  });

  it('are rejected if the message is truncated', () => {
    expect(() => string.decode(new XdrReader(Buffer.from('0000000861626364', 'hex')))).toThrow(XdrError);
    expect(() => hyper.decode(new XdrReader(Buffer.alloc(4)))).toThrow(XdrError);
  });

  it('are rejected if their length is above the limit, or if the message is too short for it', () => {
    const lie = Buffer.from('ffffffff', 'hex');
    expect(() => string.decode(new XdrReader(lie))).toThrow('text of 4294967295 bytes');
    expect(() => opaque.decode(new XdrReader(lie))).toThrow(XdrError);
    expect(() => array(int).decode(new XdrReader(lie))).toThrow('array of 4294967295 elements in 0 bytes');
  });

  it('are not read beyond the end of the message, even if the buffer is longer', () => {
    const buffer = Buffer.concat([encoded(int, 1), encoded(int, 2)]);
    const reader = new XdrReader(buffer, 0, 4);
    expect(reader.int32()).toBe(1);
    expect(() => reader.int32()).toThrow(XdrError);
  });
});

describe('the writer of XDR messages', () => {
  it('returns buffers that remain valid while it continues to write', () => {
    const writer = new XdrWriter(16);
    const views: Buffer[] = [];
    for (let value = 0; value < 50; value += 1) {
      writer.uint32(value);
      views.push(writer.finish());
    }
    expect(views.map((view) => view.readUInt32BE(0))).toEqual(Array.from({ length: 50 }, (_, value) => value));
  });

  it('writes the length of each message, even if its memory grows within the message', () => {
    const writer = new XdrWriter(16);
    writer.openFrame();
    writer.uint32(7);
    writer.closeFrame();
    writer.openFrame();
    writer.text('x'.repeat(100));
    writer.closeFrame(1000);
    const bytes = writer.finish();
    expect([bytes.readUInt32BE(0), bytes.readUInt32BE(8)]).toEqual([8, 4 + 4 + 100 + 1000]);
  });

  it('drops an incomplete message at cancelFrame, but not the message before it', () => {
    const writer = new XdrWriter();
    writer.openFrame();
    writer.closeFrame();
    writer.openFrame();
    writer.text('half');
    writer.cancelFrame();
    expect(writer.finish().toString('hex')).toBe('00000004');
  });

  it('rejects a message of more than 32 MiB, and does not count the bytes of the message before it', () => {
    const writer = new XdrWriter();
    writer.openFrame();
    writer.fixed(Buffer.alloc(1_000_000));
    writer.closeFrame();
    writer.openFrame();
    writer.fixed(Buffer.alloc(MAX_MESSAGE_BYTES - 4));
    expect(() => writer.uint32(0)).toThrow('message of 33554436 bytes exceeds the limit of 33554432');
  });
});
