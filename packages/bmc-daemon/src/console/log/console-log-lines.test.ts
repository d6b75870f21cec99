import { describe, expect, it } from '@jest/globals';
import { lastLines } from './console-log-lines.js';

const textsOfLines = (text: string | Buffer, max = 100) =>
  lastLines({ start: 0, bytes: Buffer.from(text), marks: [] }, max, 0).map((line) => line.text);

describe('console lines', () => {
  it('contain the visible text without control sequences', () => {
    expect(textsOfLines('\x1bc\x1b[?7l\x1b[2JSeaBIOS (version 1.16)\r\n\r\n  \r\nBooting\tfrom \x1b[1;31mHard Disk\x1b[0m...\r\n')).toEqual([
      'SeaBIOS (version 1.16)',
      'Booting    from Hard Disk...',
    ]); // prettier-ignore
    expect(textsOfLines('\x1b]0;title\x07\x1bP1;2q\x1b\\\x1b(B\x1b[>1cplain\x00\x07\u202eok\n')).toEqual(['plainok']);
    expect(textsOfLines('10 %\r20 %\r\r\nlogin: rooo\b \b\b \b')).toEqual(['20 %', 'login: ro']);
  });

  it('begin at each positioning of the cursor, as boot loaders use it', () => {
    expect(textsOfLines('\x1b[H\x1b[J\x1b[1;1HGNU GRUB\x1b[4;2H*Linux\x1b[5;2H Memory test')).toEqual([
      'GNU GRUB',
      '*Linux',
      ' Memory test',
    ]);
  });

  it('contain no control character, and U+FFFD for each invalid byte', () => {
    const bytes = Buffer.concat([
      Buffer.from([0xff, 0xc3, 0x80, 0x0b, 0x1b, 0x41, 0x9b]),
      Buffer.from(' grün\u2028e\u0085\n'),
    ]);
    const [line = ''] = textsOfLines(bytes);
    expect(line).toBe('\uFFFD\u00C0\uFFFD grüne');
    expect(textsOfLines(Buffer.from([0x1b, 0x5b, 0x0a, 0x0a, 0x00]))).toEqual([]);
  });

  it('are split between characters if they are longer than 1,000 bytes', () => {
    const lines = textsOfLines(`${'ü'.repeat(1_200)}\n`);
    expect(lines.map(({ length }) => length)).toEqual([500, 500, 200]);
    expect(lines.join('')).toBe('ü'.repeat(1_200));
  });

  it('are the last ones of the text, with the position and the time of their first byte', () => {
    const marks = [
      { at: 100, time: 1_000 },
      { at: 106, time: 2_000 },
      { at: 112, time: 3_000 },
    ];
    const stretch = { start: 100, bytes: Buffer.from('one\r\ntwo\r\nthree\r\nfour'), marks };
    expect(lastLines(stretch, 3, 0)).toEqual([
      { at: 105, time: 1_000, text: 'two' },
      { at: 110, time: 2_000, text: 'three' },
      { at: 117, time: 3_000, text: 'four' },
    ]);
    expect(lastLines({ ...stretch, marks: [] }, 1, 500)).toEqual([{ at: 117, time: 500, text: 'four' }]);
  });
});
