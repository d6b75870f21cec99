import { describe, expect, it } from '@jest/globals';
import { EscapeReader } from './ssh-escape.js';

/** What comes of pieces that are typed one after the other: text as it is, actions in brackets. */
function read(...pieces: readonly string[]): readonly string[] {
  const reader = new EscapeReader();
  const typed = pieces.flatMap((piece) => reader.read(Buffer.from(piece, 'latin1')));
  const rest = reader.end().toString('latin1');
  return [
    ...typed.map((part) => ('bytes' in part ? part.bytes.toString('latin1') : `<${part.action}>`)),
    ...(rest === '' ? [] : [rest]),
  ];
}

describe('escapes of a console', () => {
  it('are known at the start of a line, and a tilde elsewhere is a tilde', () => {
    expect(read('~.')).toEqual(['<leave>']);
    expect(read('ls ~.\r~?x\n~B')).toEqual(['ls ~.\r', '<help>', 'x\n', '<break>']);
    expect(read('a', '\r', '~', '.')).toEqual(['a', '\r', '<leave>']);
  });

  it('give a tilde for two, and what was typed for what is no escape', () => {
    expect(read('~~.')).toEqual(['~.']);
    expect(read('~root')).toEqual(['~root']);
    // What was an escape is not the line's first character.
    expect(read('\r~?~.')).toEqual(['\r', '<help>', '<leave>']);
    expect(read('\r~x~.')).toEqual(['\r~x~.']);
  });

  it('are known after Ctrl-] anywhere', () => {
    expect(read('vi \x1d.')).toEqual(['vi ', '<leave>']);
    expect(read('a\x1d\x1db\x1dc')).toEqual(['a\x1db\x1dc']);
    expect(read('a\x1d?')).toEqual(['a', '<help>']);
  });

  it('are known where the terminal has told where its cursor is, and not after other keys', () => {
    expect(read('\r\x1b[8;11R~.')).toEqual(['\r\x1b[8;11R', '<leave>']);
    expect(read('\r', '\x1b[', '8;1', '1R', '~', '.')).toEqual(['\r', '\x1b[', '8;1', '1R', '<leave>']);
    expect(read('x\x1b[8;11R~.')).toEqual(['x\x1b[8;11R~.']);
    expect(read('\r\x1b[A~.')).toEqual(['\r\x1b[A~.']);
    expect(read('\rR~.')).toEqual(['\rR~.']);
  });

  it('give back what waited for a key that never came', () => {
    expect(read('x\r~')).toEqual(['x\r', '~']);
  });
});
