import { describe, expect, it } from '@jest/globals';
import { plainLines } from './plain-text.js';

const ESC = '\u001b';

describe('plainLines', () => {
  it.each([
    ['one\r\ntwo\r\n', ['one', 'two']],
    ['one\ntwo', ['one', 'two']],
    [`${ESC}[1;31mred${ESC}[0m`, ['red']],
    [`${ESC}]0;title\u0007text`, ['text']],
    [`${ESC}]8;;javascript:alert(1)${ESC}\\link${ESC}]8;;${ESC}\\`, ['link']],
    [`${ESC}(Bplain${ESC}7${ESC}8`, ['plain']],
    ['50 %\r100 %\n', ['50 %', '100 %']],
    ['bell\u0007 null\u0000 \u009b', ['bell null ']],
    [`unfinished ${ESC}[12`, ['unfinished 12']],
    ['<b>text</b>\tü', ['<b>text</b>\tü']],
    ['', []],
  ])('turns %j into %j', (output, lines) => {
    expect(plainLines(output)).toEqual(lines);
  });

  it('turns 100,000 unfinished sequences into at most one line, within the time limit of a test', () => {
    expect(plainLines(`${ESC}]`.repeat(100_000)).length).toBeLessThan(2);
    expect(plainLines(`${ESC}[`.repeat(100_000)).length).toBeLessThan(2);
  });
});
