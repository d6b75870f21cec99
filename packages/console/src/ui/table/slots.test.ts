import { describe, expect, it } from '@jest/globals';
import { assignSlots } from './slots.js';

const lines = (text: string): readonly string[] => text.split('');
/** Returns the slots after the table has shown the lines of the first text, and then those of the second one. */
const slotsOf = (first: string, second: string, isHeld = false): readonly number[] => {
  const before = assignSlots(new Map(), lines(first), { isHeld: false });
  return [...assignSlots(before, lines(second), { isHeld }).values()];
};

describe('assignSlots', () => {
  it('reuses the slots of lines that scrolling removes for the lines that scrolling adds', () => {
    expect(slotsOf('abcdefgh', 'bcdefghi')).toEqual([1, 2, 3, 4, 5, 6, 7, 0]);
  });

  it('keeps the order of the slots if a filter replaces many lines, so that no row moves', () => {
    expect(slotsOf('abcdefgh', 'bdfhmnop')).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(slotsOf('abcdefgh', 'xy')).toEqual([0, 1]);
    expect(slotsOf('xy', 'abcd')).toEqual([0, 1, 2, 3]);
  });

  it('adds one slot for one line that is new', () => {
    expect(slotsOf('abcdefgh', 'xabcdefgh')).toEqual([8, 0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('shows no other line in any slot while the user holds a row', () => {
    expect(slotsOf('abcdefgh', 'bdfhmnop', true)).toEqual([1, 3, 5, 7, 8, 9, 10, 11]);
  });
});
