import { describe, expect, it } from '@jest/globals';
import { BodyBlocks } from './body-blocks.js';

/** Makes bytes that count up from a number, so that a wrong position shows. */
const bytesFrom = (first: number, length: number) => Buffer.from(Uint8Array.from({ length }, (_, at) => first + at));

describe('memory for large bodies', () => {
  it('contains the bytes of small and large chunks, even if the chunks change after the copy', () => {
    const blocks = new BodyBlocks();
    const pieces = [1, 65_536, 300_000, 7, 262_144, 600_000].map((length, index) => bytesFrom(index * 10, length));
    const copied = pieces.flatMap((piece) => blocks.copy(piece));
    for (const piece of pieces) piece.fill(0xff);
    const expected = [1, 65_536, 300_000, 7, 262_144, 600_000].map((length, index) => bytesFrom(index * 10, length));
    expect(Buffer.concat(copied).equals(Buffer.concat(expected))).toBe(true);
  });

  it('is reused after its release, and not before', () => {
    const first = new BodyBlocks();
    const [inFirst] = first.copy(Buffer.from('first'));
    const second = new BodyBlocks();
    const [inSecond] = second.copy(Buffer.from('second'));
    expect([inFirst?.toString(), inSecond?.toString(), inFirst?.buffer === inSecond?.buffer]).toEqual([
      'first',
      'second',
      false,
    ]);
    first.release();
    const [inThird] = new BodyBlocks().copy(Buffer.from('third'));
    expect([inSecond?.toString(), inThird?.toString(), inThird?.buffer === inFirst?.buffer]).toEqual([
      'second',
      'third',
      true,
    ]);
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
