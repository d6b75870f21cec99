import { describe, expect, it } from '@jest/globals';
import { MAX_MESSAGE_BYTES, XdrError } from '../xdr.js';
import { MessageSplitter } from './message-splitter.js';

/** Creates a message of `length` bytes: the length in the first four bytes, then only the byte `fill`. */
function message(length: number, fill: number): Buffer {
  const bytes = Buffer.alloc(length, fill);
  bytes.writeUInt32BE(length, 0);
  return bytes;
}

const messages = [message(28, 1), message(100, 2), message(29, 3), message(70_000, 4)];
const stream = Buffer.concat(messages);

const toHex = (bytes: Buffer): string => bytes.toString('hex');

/**
 * Passes the stream to a splitter in chunks of `size` bytes. All chunks use the same memory, so the splitter must
 * copy incomplete messages.
 * @returns copies of the messages.
 */
function split(size: number): Buffer[] {
  const out: Buffer[] = [];
  const splitter = new MessageSplitter((buffer, start, end) => {
    out.push(Buffer.from(buffer.subarray(start, end)));
    return true;
  });
  const memory = Buffer.alloc(size);
  for (let at = 0; at < stream.length; at += size) {
    const bytes = stream.copy(memory, 0, at, at + size);
    splitter.push(memory.subarray(0, bytes));
    memory.fill(0xff);
  }
  return out;
}

describe('the message splitter', () => {
  it.each([1, 2, 3, 5, 27, 28, 29, 157, 65_536, 1_000_000])('assembles messages from chunks of %d bytes', (size) => {
    // Compares texts, because jest needs a second to compare these buffers.
    expect(split(size).map(toHex)).toEqual(messages.map(toHex));
  });

  it('reports whether the callback may keep the memory of a message', () => {
    const owned: boolean[] = [];
    const splitter = new MessageSplitter((_buffer, _start, _end, isOwned) => {
      owned.push(isOwned);
      return true;
    });
    splitter.push(Buffer.concat([message(28, 1), message(28, 2).subarray(0, 10)]));
    splitter.push(message(28, 2).subarray(10));
    expect(owned).toEqual([false, true]);
  });

  it('returns the message for which the callback returned false, and all bytes of the chunk after it', () => {
    for (const splitAt of [0, 3, 10]) {
      const seen: number[] = [];
      const splitter = new MessageSplitter((buffer, start) => {
        seen.push(buffer.readUInt8(start + 4));
        return seen.at(-1) !== 2;
      });
      const all = Buffer.concat([message(28, 1), message(28, 2), message(28, 3).subarray(0, 20)]);
      const first = splitter.push(all.subarray(0, 28 + splitAt));
      const rest = first ?? splitter.push(all.subarray(28 + splitAt));
      expect(rest).toEqual(all.subarray(28));
      expect(seen).toEqual([1, 2]);
    }
  });

  it.each([0, 4, 27, MAX_MESSAGE_BYTES + 1, 0xffff_ffff])('rejects a length of %d bytes, even in parts', (length) => {
    const word = Buffer.alloc(4);
    word.writeUInt32BE(length);
    expect(() => new MessageSplitter(() => true).push(word)).toThrow(XdrError);
    const splitter = new MessageSplitter(() => true);
    splitter.push(word.subarray(0, 1));
    expect(() => splitter.push(word.subarray(1))).toThrow(XdrError);
  });
});
