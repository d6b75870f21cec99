import { describe, expect, it } from '@jest/globals';
import { element, markupLines } from './markup.js';
import { parseXml } from './parse.js';
import { attribute, textOf } from './tree.js';

describe('markupLines', () => {
  it('writes an element and its children on separate lines', () => {
    const root = element('disk', { type: 'file', index: 0, absent: null }, [
      element('source', { file: '/a.img' }),
      null,
      element('serial', {}, 'x'),
      element('boot', {}, 2),
    ]);
    expect(markupLines(root)).toEqual([
      `<disk type='file' index='0'>`,
      `  <source file='/a.img'/>`,
      '  <serial>x</serial>',
      '  <boot>2</boot>',
      '</disk>',
    ]);
  });

  it('encodes texts and attributes so that a parser returns them', () => {
    const nasty = `it's "<&>"\n\t`;
    const { root } = parseXml(markupLines(element('name', { value: nasty }, `x ${nasty}y`)).join('\n'));
    expect([attribute(root, 'value'), textOf(root)]).toEqual([nasty, `x ${nasty}y`]);
  });
});
