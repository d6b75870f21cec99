import { describe, expect, it } from '@jest/globals';
import { EscapeReader } from './ssh-escape.js';

/** Reads input in these pieces. Returns its texts and its actions in order; an action is in angle brackets. */
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
  it('work at the start of a line; elsewhere, a tilde is text', () => {
    expect(read('~.')).toEqual(['<leave>']);
    expect(read('ls ~.\r~?x\n~B')).toEqual(['ls ~.\r', '<help>', 'x\n', '<break>']);
    expect(read('a', '\r', '~', '.')).toEqual(['a', '\r', '<leave>']);
  });

  it('send one tilde for two tildes, and are text if they are unknown', () => {
    expect(read('~~.')).toEqual(['~.']);
    expect(read('~root')).toEqual(['~root']);
    // The line is still empty after an escape.
    expect(read('\r~?~.')).toEqual(['\r', '<help>', '<leave>']);
    expect(read('\r~x~.')).toEqual(['\r~x~.']);
  });

  it('work anywhere after Ctrl-]', () => {
    expect(read('vi \x1d.')).toEqual(['vi ', '<leave>']);
    expect(read('a\x1d\x1db\x1dc')).toEqual(['a\x1db\x1dc']);
    expect(read('a\x1d?')).toEqual(['a', '<help>']);
  });

  it('work at the start of a line even after a cursor report of the terminal, but not after other keys', () => {
    expect(read('\r\x1b[8;11R~.')).toEqual(['\r\x1b[8;11R', '<leave>']);
    expect(read('\r', '\x1b[', '8;1', '1R', '~', '.')).toEqual(['\r', '\x1b[', '8;1', '1R', '<leave>']);
    expect(read('x\x1b[8;11R~.')).toEqual(['x\x1b[8;11R~.']);
    expect(read('\r\x1b[A~.')).toEqual(['\r\x1b[A~.']);
    expect(read('\rR~.')).toEqual(['\rR~.']);
  });

  it('are text if the input ends before they are complete', () => {
    expect(read('x\r~')).toEqual(['x\r', '~']);
  });
});
