import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { q35Xml, unusualXml } from '../../../../test/fixtures/domain-xml.js';
import { decodeText, encodeAttribute, encodeText } from './escape.js';
import { parseXml, type ParsedElement } from './parse.js';
import { attribute, child, childElements, textOf } from './tree.js';

const everyElement = (element: ParsedElement): readonly ParsedElement[] => [
  element,
  ...element.nodes.flatMap((node) => (node.kind === 'element' ? everyElement(node) : [])),
];

describe('parseXml', () => {
  it('gives the position of every tag and value', () => {
    for (const source of [unusualXml, q35Xml]) {
      for (const element of everyElement(parseXml(source).root)) {
        expect(source.startsWith(`<${element.name}`, element.start)).toBe(true);
        expect(source.slice(0, element.contentStart).endsWith('>')).toBe(true);
        expect(source.slice(element.start, element.end)).toMatch(
          element.selfClosing ? /\/>$/ : new RegExp(`</${element.name}>$`),
        );
        for (const { name, value, start, valueStart, valueEnd, end } of element.attributes) {
          expect(source.startsWith(name, start)).toBe(true);
          expect(decodeText(source.slice(valueStart, valueEnd))).toBe(value);
          expect(source.charAt(valueStart - 1)).toBe(source.slice(valueEnd, end));
        }
      }
    }
  });

  it('decodes entities, character references and CDATA', () => {
    const { root } = parseXml(unusualXml);
    expect(textOf(child(root, 'name'))).toBe('odd & "quoted" \u2603');
    expect(textOf(child(root, 'title'))).toBe('a <title>');
    expect(attribute(child(root, 'devices', 'graphics'), 'passwd')).toBe(`p"'s's`);
    const info = child(root, 'metadata')?.nodes[0];
    expect(info?.kind === 'element' ? info.text : null).toBe(` <disk device='cdrom'/> & `);
  });

  it('resolves prefixes, and distinguishes foreign elements from those of libvirt', () => {
    const { root } = parseXml(
      `<domain xmlns:q='urn:q'><metadata><os xmlns='urn:o'><boot/></os><q:os><boot dev='x'/></q:os></metadata><os/></domain>`,
    );
    const [plain, prefixed] = child(root, 'metadata')?.nodes ?? [];
    expect(plain?.kind === 'element' ? [plain.namespace, plain.localName] : null).toEqual(['urn:o', 'os']);
    expect(prefixed?.kind === 'element' ? [prefixed.namespace, prefixed.localName] : null).toEqual(['urn:q', 'os']);
    expect(childElements(child(root, 'metadata'), 'os')).toEqual([]);
    expect(child(root, 'os', 'boot')).toBeUndefined();
  });

  it.each([
    ['', 'no element'],
    ['<a>', 'a is not closed'],
    ['<a></b>', 'unexpected end tag b'],
    ['<a/><b/>', 'a second root element'],
    ['<a>\n<b c=d/></a>', 'the value of c is not quoted'],
    [`<a b='1' b='2'/>`, 'attribute b occurs twice'],
    ['<a b/>', 'attribute b has no value'],
    ['<a', 'the tag a does not end'],
    ['<a><!-- </a>', 'missing -->'],
    ['<x:a/>', 'the prefix of x:a is not declared'],
    ['<a/>text', 'text outside the root element'],
    ['<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>', 'a declaration that libvirt does not write'],
    ['<a>&nbsp;</a>', 'an unknown entity'],
    ['<a>& b</a>', 'an unknown entity'],
    ['<a>&lt</a>', 'an unknown entity'],
    ['<a>&lt&amp;</a>', 'an unknown entity'],
    [`<a b='&amp'/>`, 'an unknown entity'],
  ])('rejects %j: %s', (source, why) => {
    expect(() => parseXml(source)).toThrow(why);
  });

  it('reports the line of a fault, but not the text, which may have a password', () => {
    expect(() => parseXml(`<a>\n<graphics passwd='secret'\n</a>`)).toThrow(/^reading domain xml on line 3: .*missing$/);
    expect(() => parseXml("<graphics passwd='a&secret;'/>")).toThrow(/^reading domain xml: an unknown entity$/);
  });
});

describe('the encoding of special characters', () => {
  it('is reversible in text and in both kinds of quotes', () => {
    // Characters of XML 1.0: no control characters except tab and line ends.
    const anyText = fc
      .string({ unit: 'binary' })
      .map((text) => text.replace(/[\p{Cc}\ufffe\uffff]/gu, (control) => ('\t\n\r'.includes(control) ? control : '')));
    fc.assert(
      fc.property(anyText, (text) => {
        const source = `<a b='${encodeAttribute(text)}' c="${encodeAttribute(text, '"')}">${encodeText(text)}</a>`;
        const { root } = parseXml(source);
        expect([attribute(root, 'b'), attribute(root, 'c'), root.text]).toEqual([text, text, text]);
        expect(attribute(root, 'd')).toBeNull();
      }),
    );
  });
});

describe('the cache of parsed documents', () => {
  it('returns the same object for the same text, until 16 other texts have been parsed', () => {
    const text = (index: number): string => `<domain><name>machine ${index}</name></domain>`;
    const first = parseXml(text(0));
    expect(parseXml(text(0))).toBe(first);
    for (let index = 1; index <= 16; index += 1) parseXml(text(index));
    const again = parseXml(text(0));
    expect(again).not.toBe(first);
    expect(again.source).toBe(text(0));
  });
});
