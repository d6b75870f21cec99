import { describe, expect, it } from '@jest/globals';
import { BodyBlocks } from './body-blocks.js';

/** Makes bytes that count up from a number, so that a wrong position shows. */
const bytesFrom = (first: number, length: number) => Buffer.from(Uint8Array.from({ length }, (_, at) => first + at));

describe('memory for large bodies', () => {
  it('contains the copied bytes, whatever the sizes of the chunks', () => {
    const blocks = new BodyBlocks();
    const pieces = [1, 65_536, 300_000, 7, 262_144, 600_000].map((length, index) => bytesFrom(index * 10, length));
    const copied = pieces.flatMap((piece) => blocks.copy(piece));
    for (const piece of pieces) piece.fill(0xff);
    const expected = [1, 65_536, 300_000, 7, 262_144, 600_000].map((length, index) => bytesFrom(index * 10, length));
    expect(Buffer.concat(copied).equals(Buffer.concat(expected))).toBe(true);
  });

  it('is reused after its release, and not before', () => {
    const first = new BodyBlocks();
    const [of1] = first.copy(Buffer.from('first'));
    const second = new BodyBlocks();
    const [of2] = second.copy(Buffer.from('second'));
    expect([of1?.toString(), of2?.toString(), of1?.buffer === of2?.buffer]).toEqual(['first', 'second', false]);
    first.release();
    const [of3] = new BodyBlocks().copy(Buffer.from('third'));
    expect([of2?.toString(), of3?.toString(), of3?.buffer === of1?.buffer]).toEqual(['second', 'third', true]);
  });

  it('is released only once: later bytes get other memory', () => {
    const blocks = new BodyBlocks();
    blocks.copy(Buffer.from('a'));
    blocks.release();
    blocks.release();
    const [one] = new BodyBlocks().copy(Buffer.from('one'));
    const [two] = new BodyBlocks().copy(Buffer.from('two'));
    const [more] = blocks.copy(Buffer.from('more'));
    expect([one, two, more].map(String)).toEqual(['one', 'two', 'more']);
  });
});
