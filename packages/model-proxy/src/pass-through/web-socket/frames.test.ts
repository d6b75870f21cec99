import { describe, expect, it } from '@jest/globals';
import { closeFrame, FrameCursor, maskedCloseFrame } from './frames.js';

/** Makes a frame (RFC 6455 §5.2) with the shortest form of its length. */
function frame(opcode: number, length: number, mask: 'masked' | 'plain'): Buffer {
  const bit = mask === 'masked' ? 0x80 : 0;
  const extended = length < 126 ? Buffer.alloc(0) : Buffer.alloc(length < 65_536 ? 2 : 8);
  if (extended.length === 2) extended.writeUInt16BE(length);
  else if (extended.length === 8) extended.writeBigUInt64BE(BigInt(length));
  const short = extended.length === 0 ? length : extended.length === 2 ? 126 : 127;
  const key = Buffer.alloc(mask === 'masked' ? 4 : 0, 0x88);
  return Buffer.concat([Buffer.from([0x80 | opcode, bit | short]), extended, key, Buffer.alloc(length, 0x88)]);
}

const lengths = [0, 1, 125, 126, 127, 65_535, 65_536, 70_000];

describe('the position in a direction of a WebSocket', () => {
  it.each([1, 2, 3, 13, 1024, Infinity])('is between frames after whole frames, with chunks of %d bytes', (size) => {
    const frames = lengths.flatMap((length) => [frame(2, length, 'masked'), frame(1, length, 'plain')]);
    const bytes = Buffer.concat(frames);
    const ends = new Set<number>([0]);
    frames.reduce((sum, one) => (ends.add(sum + one.length), sum + one.length), 0);
    const cursor = new FrameCursor();
    const wrong: number[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      const end = Math.min(at + size, bytes.length);
      cursor.push(bytes.subarray(at, end));
      if (cursor.isBetweenFrames !== ends.has(end)) wrong.push(end);
    }
    expect(wrong).toEqual([]);
    expect([cursor.isBetweenFrames, cursor.isClosed]).toEqual([true, false]);
  });

  it('is closed after a close frame', () => {
    const cursor = new FrameCursor();
    cursor.push(frame(1, 200, 'plain'));
    expect(cursor.isClosed).toBe(false);
    cursor.push(frame(8, 2, 'plain'));
    expect(cursor.isClosed).toBe(true);
  });
});

describe('the text messages of a direction', () => {
  it.each([1, 3, 1000])('come in pieces, without frames between their parts, with chunks of %d bytes', (size) => {
    const message = (first: number, text: string) => Buffer.from([first, text.length, ...Buffer.from(text)]);
    const bytes = Buffer.concat([
      message(0x81, 'whole'),
      message(0x82, 'binary'),
      message(0x01, 'be'),
      message(0x89, 'ping'),
      message(0x00, 'gi'),
      message(0x80, 'n'),
      message(0xc1, 'compressed'),
      message(0x01, 'part'),
      message(0x80, ''),
      message(0x81, ''),
      message(0x88, ''),
    ]);
    const texts: string[] = [];
    let text = '';
    const cursor = new FrameCursor({
      onPiece: (piece) => (text += piece.toString()),
      onEnd: () => {
        texts.push(text);
        text = '';
      },
    });
    for (let at = 0; at < bytes.length; at += size) cursor.push(bytes.subarray(at, at + size));
    expect([texts, text, cursor.isClosed]).toEqual([['whole', 'begin', 'part', ''], '', true]);
  });
});

describe('a close frame', () => {
  const end = (reason: string) => ({ code: 1001, reason });
  const payload = Buffer.from([0x03, 0xe9, ...Buffer.from('bye')]);

  it('has a code and a reason, and is masked for servers', () => {
    expect(closeFrame(end('bye'))).toEqual(Buffer.from([0x88, 0x05, ...payload]));
    const masked = maskedCloseFrame(end('bye'));
    const key = masked.subarray(2, 6);
    expect([...masked.subarray(0, 2)]).toEqual([0x88, 0x85]);
    expect(masked.subarray(6).map((byte, index) => byte ^ (key[index % 4] ?? 0))).toEqual(payload);
    expect(maskedCloseFrame(end('bye')).subarray(2, 6)).not.toEqual(key);
  });

  it('rejects a reason that is too long for a control frame', () => {
    expect(closeFrame(end('x'.repeat(123)))).toHaveLength(127);
    expect(() => closeFrame(end('x'.repeat(124)))).toThrow(new RangeError('a close frame has no room for 124 bytes'));
  });
});
