import { expect, it } from '@jest/globals';
import { h } from 'preact';
import { shortText, startVisibleTexts, visibleText } from './visible-text.js';

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
  ['❤\ufe0f\u200d🔥 1\ufe0f\u20e3 क्\u200dष 👨🏽\u200d⚕\ufe0f', '❤\ufe0f\u200d🔥 1\ufe0f\u20e3 क्\u200dष 👨🏽\u200d⚕\ufe0f'],
  ['a\ufe0fb\u{e0100}c\u034f', 'a[U+FE0F]b[U+E0100]c[U+034F]'],
  ['é\u200d網\u200c', 'é[U+200D]網[U+200C]'],
  ['👩\u200d', '👩[U+200D]'],
  ['می\u200c\u200cخ\u200c', 'می[U+200C][U+200C]خ[U+200C]'],
  ['a\u00a0b\u2009c\u2800d\u3000e\u202ff', 'a[U+00A0]b[U+2009]c[U+2800]d[U+3000]e[U+202F]f'],
  ['a\r\nb\rc', 'a\nb[U+000D]c'],
])('visibleText shows the hidden characters of %j as codes', (text, shown) => {
  expect(visibleText(text)).toBe(shown);
});

it('shortText never leaves half of a surrogate pair at a cut', () => {
  for (const begin of ['', 'x']) {
    const text = shortText(`${begin}${'😀'.repeat(1000)}`);
    expect(text).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])/);
    expect(text).not.toMatch(/(?<![\ud800-\udbff])[\udc00-\udfff]/);
  }
});

it('the console cuts a text that only its codes make far too long', () => {
  startVisibleTexts();
  const { props } = h('p', {}, '\u202e'.repeat(1000)); // the console shows it as 8,000 characters
  expect(props.children).toMatch(/^(\[U\+202E\]){37}.{10,50} more characters/);
});

it('shortText cuts the middle of a text only if the text is far too long', () => {
  expect(shortText('W'.repeat(1000))).toHaveLength(1000);
  expect(shortText(`begin${'x'.repeat(10_000)}end`)).toMatch(/^begin.{290,400}9408 more characters.{290,400}end$/);
});
