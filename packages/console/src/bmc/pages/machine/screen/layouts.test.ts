import { describe, expect, it } from '@jest/globals';
import { chordsOf, layoutNames, type LayoutName } from './layouts.js';

const ascii = Array.from({ length: 95 }, (_none, index) => String.fromCharCode(32 + index)).join('');
/** Returns the codes of all chords: the keys of a chord with a plus between them, the chords with a space. */
const codes = (text: string, layout: LayoutName) =>
  chordsOf(text, layout)
    .chords.flat() // `chords` has a list of chords for each character.
    .map((chord) => chord.map(({ code }) => code).join('+'))
    .join(' ');

describe('the keys of a text', () => {
  it.each(layoutNames)('exist for each ASCII character in the layout %s, each at its own place', (layout) => {
    const { chords, untypable } = chordsOf(ascii, layout);
    expect(untypable).toEqual([]);
    expect(new Set(chords.map((each) => JSON.stringify(each))).size).toBe(95);
  });

  it.each([
    ['us', 'Az-@', 'ShiftLeft+KeyA KeyZ Minus ShiftLeft+Digit2'],
    ['gb', '"#€', 'ShiftLeft+Digit2 Backslash AltRight+Digit4'],
    ['de', 'zy@^', 'KeyY KeyZ AltRight+KeyQ Backquote Space'],
    ['fr', 'a1.', 'KeyQ ShiftLeft+Digit1 ShiftLeft+Comma'],
    ['es', 'ñ@^', 'Semicolon AltRight+Digit2 ShiftLeft+BracketLeft Space'],
    ['ch', 'zè~', 'KeyY ShiftLeft+BracketLeft AltRight+Equal Space'],
    ['no', '\\', 'Equal'],
    ['se', '$|', 'AltRight+Digit4 AltRight+IntlBackslash'],
    ['tr', 'ıi<', 'KeyI Quote IntlBackslash'],
  ] as const)('follow the layout %s', (layout, text, expected) => {
    expect(codes(text, layout)).toBe(expected);
  });

  it('are Enter for each kind of line end, and Tab for a tab', () => {
    expect(codes('\r\n\n\r\t', 'us')).toBe('Enter Enter Enter Tab');
  });

  it('leave out characters without a key; the result lists each of these characters once', () => {
    expect(chordsOf('aéééü', 'us')).toMatchObject({ untypable: ['é', 'ü'], chords: [[[{ keysym: 0x61 }]]] });
  });

  it('have the keysyms that the layout gives', () => {
    expect(chordsOf('€', 'de').chords).toEqual([
      [
        [
          { keysym: 0xfe03, code: 'AltRight' },
          { keysym: 0x010020ac, code: 'KeyE' },
        ],
      ],
    ]);
  });
});
