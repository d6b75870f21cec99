import { describe, expect, it } from '@jest/globals';
import { parseXml, type XmlDocument } from './parse.js';
import { child, type XmlElement } from './tree.js';
import { applySplices, insertChild, removeAttribute, removeElement, setAttribute } from './splice.js';

function at(document: XmlDocument, ...path: readonly string[]): XmlElement {
  const found = child(document.root, ...path);
  if (found === undefined) throw new Error(`no ${path.join('/')}`);
  return found;
}

describe('applySplices', () => {
  it('keeps the order of insertions at one place, before a removal that starts there', () => {
    const splices = [
      { start: 1, end: 3, text: '' },
      { start: 1, end: 1, text: 'x' },
      { start: 1, end: 1, text: 'y' },
    ];
    expect(applySplices('abcd', splices)).toBe('axyd');
  });

  it.each([
    [
      { start: 0, end: 2 },
      { start: 1, end: 3 },
    ],
    [
      { start: 2, end: 1 },
      { start: 3, end: 3 },
    ],
    [
      { start: 0, end: 1 },
      { start: 3, end: 9 },
    ],
  ])('refuses %j with %j', (...splices) => {
    expect(() =>
      applySplices(
        'abcd',
        splices.map((splice) => ({ ...splice, text: '' })),
      ),
    ).toThrow(RangeError);
  });
});

describe('setAttribute', () => {
  it.each([
    [`<a b='1'/>`, 'b', `it's "x"`, `<a b='it&apos;s "x"'/>`],
    [`<a b="1" c='2'/>`, 'b', `it's "x"`, `<a b="it's &quot;x&quot;" c='2'/>`],
    [`<a b="1"/>`, 'c', `<&>`, `<a b="1" c="&lt;&amp;&gt;"/>`],
    [`<a ></a>`, 'c', 'x', `<a c='x' ></a>`],
  ])('writes into %s with the present quotes', (source, name, value, result) => {
    const document = parseXml(source);
    expect(applySplices(source, [setAttribute(document, document.root, name, value)])).toBe(result);
  });

  it('is reverted by removeAttribute, which ignores an absent attribute', () => {
    const source = `<a b="1"/>`;
    const document = parseXml(source);
    const edited = parseXml(applySplices(source, [setAttribute(document, document.root, 'c', 'x')]));
    expect(applySplices(edited.source, removeAttribute(edited, edited.root, 'c'))).toBe(source);
    expect(removeAttribute(document, document.root, 'c')).toEqual([]);
  });
});

describe('insertChild', () => {
  const source = `<d>\n\t<one/>\n\t<two>\n\t\t<x/>\n\t</two><!-- end -->\n</d>\n`;

  it.each([
    ['behind the last node', undefined, `<d>\n\t<one/>\n\t<two>\n\t\t<x/>\n\t</two><!-- end -->\n\t<new/>\n</d>\n`],
    ['before all others', null, `<d>\n\t<new/>\n\t<one/>\n\t<two>\n\t\t<x/>\n\t</two><!-- end -->\n</d>\n`],
    ['behind a sibling', 'one', `<d>\n\t<one/>\n\t<new/>\n\t<two>\n\t\t<x/>\n\t</two><!-- end -->\n</d>\n`],
  ])('puts a child %s, on a line indented like its siblings, and removeElement takes it back', (_, after, result) => {
    const document = parseXml(source);
    // The last node shares its line with another element, so it has no indentation.
    const sibling = typeof after === 'string' ? at(document, after) : after;
    const edited = applySplices(source, [insertChild(document, document.root, '<new/>', sibling)]);
    expect(edited).toBe(result);
    const back = parseXml(edited);
    expect(applySplices(edited, [removeElement(back, at(back, 'new'))])).toBe(source);
  });

  it('indents a child of several lines as a whole', () => {
    const document = parseXml(source);
    expect(applySplices(source, [insertChild(document, at(document, 'two'), ['<new>', '  <in/>', '</new>'])])).toBe(
      `<d>\n\t<one/>\n\t<two>\n\t\t<x/>\n\t\t<new>\n\t\t  <in/>\n\t\t</new>\n\t</two><!-- end -->\n</d>\n`,
    );
  });

  it('opens an empty element, and indents by two spaces', () => {
    const edited = (text: string): string => {
      const document = parseXml(text);
      return applySplices(text, [insertChild(document, at(document, 'a'), '<new/>')]);
    };
    expect(edited(`<d>\n  <a b='1' />\n</d>`)).toBe(`<d>\n  <a b='1' >\n    <new/></a>\n</d>`);
    expect(edited(`<d>\n  <a></a>\n</d>`)).toBe(`<d>\n  <a><new/></a>\n</d>`);
    expect(edited(`<d>\n  <a>\n  </a>\n</d>`)).toBe(`<d>\n  <a>\n    <new/>\n  </a>\n</d>`);
    expect(edited(`<d><a/></d>`)).toBe(`<d><a> <new/></a></d>`);
  });
});
