import { describe, expect, it } from '@jest/globals';
import { PendingText } from './console-log-pending.js';

const takeText = (text: PendingText) => {
  const { bytes, marks } = text.take();
  return { text: bytes.toString(), marks };
};

describe('text that waits for the disk', () => {
  it('is unchanged, with a mark where another second begins', () => {
    const text = new PendingText(100);
    for (const [piece, time] of [['one ', 1_000], ['two ', 1_900], ['three ', 2_000], ['four', 1]] as const) text.add(Buffer.from(piece), time); // prettier-ignore
    expect(takeText(text)).toEqual({
      text: 'one two three four',
      marks: [
        { at: 0, time: 1_000 },
        { at: 8, time: 2_000 },
        { at: 14, time: 1 },
      ],
    });
    expect(takeText(text)).toEqual({ text: '', marks: [] });
    text.add(Buffer.from('more'), 500);
    expect(takeText(text)).toEqual({ text: 'more', marks: [] });
  });

  it('is bounded: the oldest bytes are dropped, and a note shows how many', () => {
    const text = new PendingText(8);
    text.add(Buffer.from('abcdefgh'), 1_000);
    text.add(Buffer.from('ij'), 2_500);
    expect(text.size).toBe(6);
    expect(takeText(text)).toEqual({
      text: '\r\n[rackless: 4 bytes left out]\r\nefghij',
      marks: [
        { at: 0, time: 1_000 },
        { at: 36, time: 2_500 },
      ],
    });
    text.add(Buffer.from('0123456789abc'), 4_000);
    expect(takeText(text).text).toBe('\r\n[rackless: 5 bytes left out]\r\n56789abc');
    text.countLost(3);
    text.add(Buffer.from('x'), 4_001);
    expect(takeText(text).text).toBe('\r\n[rackless: 3 bytes left out]\r\nx');
  });

  it('stays bounded, and so do its marks, after 100,000 small pieces without a write', () => {
    const text = new PendingText(1_000);
    let count = 0;
    for (; count < 100_000; count += 1) text.add(Buffer.from([0x30 + (count % 10)]), count * 1_000);
    const { bytes, marks } = text.take();
    expect(bytes.length).toBeLessThan(1_100);
    expect(marks.length).toBeLessThanOrEqual(257);
    expect(bytes.subarray(-20).toString()).toBe('01234567890123456789');
  });
});
