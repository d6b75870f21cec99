import { expect, it } from '@jest/globals';
import { shortText, visibleText } from './visible-text.js';

it.each([
  ['node-1', 'node-1'],
  ['Größe 網路 עברית', 'Größe 網路 עברית'],
  ['a\nb\tc', 'a\nb\tc'],
  ['node-\u202e1-edon', 'node-[U+202E]1-edon'],
  ['no\u200bde', 'no[U+200B]de'],
  ['no\u200dde', 'no[U+200D]de'],
  ['\u2066x\u2069', '[U+2066]x[U+2069]'],
  ['\u0007bell\u009b', '[U+0007]bell[U+009B]'],
  ['tag\u{e0041}', 'tag[U+E0041]'],
  ['👩\u200d💻 می\u200cخواهم', '👩\u200d💻 می\u200cخواهم'],
])('shows the hidden characters of %j', (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

it('cuts the middle of a text only if the text is far too long', () => {
  expect(shortText('W'.repeat(1000))).toHaveLength(1000);
  expect(shortText(`begin${'x'.repeat(10_000)}end`)).toMatch(/^begin.{290,400}9408 more characters.{290,400}end$/);
});
