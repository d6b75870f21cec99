import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { q35Xml, unusualXml } from '../../../../test/fixtures/domain-xml.js';
import { attribute, child, textOf, type XmlElement } from './tree.js';
import { XmlEdit } from './xml-edit.js';

function elementAt(edit: XmlEdit, ...path: readonly string[]): XmlElement {
  const found = child(edit.root, ...path);
  if (found === undefined) throw new Error(`no ${path.join('/')}`);
  return found;
}

/** Makes changes in one edit of a text, in this order. Returns the new text. */
function afterEdits(source: string, ...edits: readonly ((edit: XmlEdit) => void)[]): string {
  const edit = new XmlEdit(source);
  for (const change of edits) change(edit);
  return edit.text();
}

describe('an edit of a text', () => {
  it('keeps every byte without edits, and with edits that revert each other', () => {
    for (const source of [
      unusualXml,
      q35Xml,
      `\ufeff<?xml version="1.0"?>\r\n<!--a--><a  b = "1" ><b/>x</a >\n<!--z-->\n`,
    ]) {
      const edit = new XmlEdit(source);
      expect([edit.text(), edit.isChanged()]).toEqual([source, false]);
      edit.setAttribute(edit.root, 'new', 'x');
      expect([edit.text() === source, edit.isChanged()]).toEqual([false, true]);
      edit.removeAttribute(edit.root, 'new');
      expect([edit.text(), edit.isChanged()]).toEqual([source, false]);
    }
  });

  it('reads what it has set before', () => {
    const edit = new XmlEdit(`<d><a b="1"/><c>x</c></d>`);
    edit.setAttribute(elementAt(edit, 'a'), 'b', `<'2'>`);
    edit.insert(edit.root, `<e f='&#38;'><g/></e>`);
    edit.setText(elementAt(edit, 'c'), 'y & z');
    expect([
      attribute(elementAt(edit, 'a'), 'b'),
      attribute(elementAt(edit, 'e'), 'f'),
      textOf(elementAt(edit, 'c')),
    ]).toEqual([`<'2'>`, '&', 'y & z']);
    edit.setAttribute(elementAt(edit, 'e', 'g'), 'h', '1');
    expect(edit.text()).toBe(`<d><a b="&lt;'2'&gt;"/><c>y &amp; z</c><e f='&#38;'><g h='1'/></e></d>`);
  });

  it('does not change the parsed text, which other edits read', () => {
    const one = new XmlEdit(q35Xml);
    one.remove(elementAt(one, 'devices'));
    expect(child(new XmlEdit(q35Xml).root, 'devices')).toBeDefined();
  });
});

describe('edits of one text', () => {
  const source = `<d>\n  <a b='1'>\n    <c/>\n  </a>\n</d>`;

  it('apply one after the other: the later value of an attribute stays', () => {
    const setB = (value: string) => (edit: XmlEdit) => edit.setAttribute(elementAt(edit, 'a'), 'b', value);
    expect(afterEdits(source, setB('2'), setB('3'))).toBe(source.replace('1', '3'));
  });

  it('can change an element that an earlier edit has inserted', () => {
    const text = afterEdits(
      source,
      (edit) => edit.insert(elementAt(edit, 'a'), '<new/>'),
      (edit) => edit.setAttribute(elementAt(edit, 'a', 'new'), 'x', '1'),
      (edit) => edit.insert(elementAt(edit, 'a', 'new'), '<in/>'),
    );
    expect(text).toBe(source.replace('<c/>', `<c/>\n    <new x='1'>\n      <in/></new>`));
  });

  it('throw if an earlier edit has removed the element, so that no edit is lost', () => {
    const edit = new XmlEdit(source);
    const [outer, inner] = [elementAt(edit, 'a'), elementAt(edit, 'a', 'c')];
    edit.remove(outer);
    for (const change of [
      () => edit.setAttribute(outer, 'b', '2'),
      () => edit.remove(outer),
      () => edit.insert(inner, '<x/>'),
      () => edit.setText(inner, 'x'),
      () => edit.replace(inner, '<x/>'),
    ])
      expect(change).toThrow(RangeError);
    expect(edit.text()).toBe(`<d>\n</d>`);
  });

  it('throw for an element of another text, and for a preceding node that is not in the parent', () => {
    const edit = new XmlEdit(source);
    expect(() => edit.remove(elementAt(new XmlEdit(source), 'a'))).toThrow('it was removed, or is from another text');
    expect(() => edit.insert(edit.root, '<x/>', elementAt(edit, 'a', 'c'))).toThrow('the preceding node is not in it');
  });

  it('give the same text as separate edits, each of the result of the previous one', () => {
    type Change = (edit: XmlEdit, element: XmlElement) => void;
    const changes: readonly Change[] = [
      (edit, element) => edit.setAttribute(element, 'b', '7'),
      (edit, element) => edit.setAttribute(element, 'new', `it's`),
      (edit, element) => edit.removeAttribute(element, 'b'),
      (edit, element) => edit.insert(element, ['<x>', '  <y/>', '</x>']),
      (edit, element) => edit.insert(element, '<z/>', null),
      (edit, element) => edit.insertUnchanged(element, '\n <w/>t', null),
      (edit, element) => element.parent !== null && edit.remove(element),
      (edit, element) => element.parent !== null && edit.revertInsert(element),
      (edit, element) => element.parent !== null && edit.replace(element, `<r b='1'> <s/></r>`),
      (edit, element) => edit.setText(element, 'a<b'),
    ];
    const space = fc.constantFrom('', ' ', '\n', '\n  ', 'text', ' a\n');
    const anyElement = (depth: number): fc.Arbitrary<string> =>
      fc
        .record({
          name: fc.constantFrom('a', 'c'),
          attributes: fc.constantFrom('', ` b='1'`, ` b="2" e='3'`),
          inner: depth === 0 ? fc.constant([]) : fc.array(fc.tuple(space, anyElement(depth - 1)), { maxLength: 3 }),
          tail: space,
        })
        .map(({ name, attributes, inner, tail }) =>
          inner.length === 0 && tail === ''
            ? `<${name}${attributes}/>`
            : `<${name}${attributes}>${inner.flat().join('')}<!--n-->${tail}</${name}>`,
        );
    const every = (of: XmlElement): readonly XmlElement[] => [
      of,
      ...of.nodes.flatMap((node) => (node.kind === 'element' ? every(node) : [])),
    ];
    const steps = fc.array(fc.tuple(fc.nat(), fc.constantFrom(...changes)), { minLength: 1, maxLength: 6 });
    fc.assert(
      fc.property(anyElement(3), steps, (inner, wanted) => {
        const text = `<d>${inner}</d>`;
        const together = new XmlEdit(text);
        let apart = text;
        const apply = (edit: XmlEdit, [index, change]: readonly [number, Change]): void => {
          const elements = every(edit.root);
          const chosen = elements[index % elements.length];
          if (chosen !== undefined) change(edit, chosen);
        };
        for (const step of wanted) {
          apply(together, step);
          apart = afterEdits(apart, (edit) => apply(edit, step));
        }
        expect(together.text()).toBe(apart);
      }),
      { numRuns: 500 },
    );
  });
});

describe('setAttribute', () => {
  it.each([
    [`<a b='1'/>`, 'b', `it's "x"`, `<a b='it&apos;s "x"'/>`],
    [`<a b="1" c='2'/>`, 'b', `it's "x"`, `<a b="it's &quot;x&quot;" c='2'/>`],
    [`<a b="1"/>`, 'c', `<&>`, `<a b="1" c="&lt;&amp;&gt;"/>`],
    [`<a ></a>`, 'c', 'x', `<a c='x' ></a>`],
  ])('writes into %s with the existing quotes', (source, name, value, result) => {
    expect(afterEdits(source, (edit) => edit.setAttribute(edit.root, name, value))).toBe(result);
  });

  it('is reverted by removeAttribute, which ignores an absent attribute', () => {
    const source = `<a b="1"/>`;
    const withAttribute = afterEdits(source, (edit) => edit.setAttribute(edit.root, 'c', 'x'));
    expect(afterEdits(withAttribute, (edit) => edit.removeAttribute(edit.root, 'c'))).toBe(source);
    expect(afterEdits(source, (edit) => edit.removeAttribute(edit.root, 'c'))).toBe(source);
  });
});

describe('insert', () => {
  const source = `<d>\n\t<one/>\n\t<two>\n\t\t<x/>\n\t</two><!-- end -->\n</d>\n`;

  it.each([
    ['behind the last node', undefined, `<d>\n\t<one/>\n\t<two>\n\t\t<x/>\n\t</two><!-- end -->\n\t<new/>\n</d>\n`],
    ['before all others', null, `<d>\n\t<new/>\n\t<one/>\n\t<two>\n\t\t<x/>\n\t</two><!-- end -->\n</d>\n`],
    ['behind a sibling', 'one', `<d>\n\t<one/>\n\t<new/>\n\t<two>\n\t\t<x/>\n\t</two><!-- end -->\n</d>\n`],
  ])('puts a child %s, on a line indented like its siblings, and remove reverts this', (_, place, result) => {
    // The last node shares its line with another element, so it has no indentation.
    const withNewChild = afterEdits(source, (edit) =>
      edit.insert(edit.root, '<new/>', typeof place === 'string' ? elementAt(edit, place) : place),
    );
    expect(withNewChild).toBe(result);
    expect(afterEdits(withNewChild, (edit) => edit.remove(elementAt(edit, 'new')))).toBe(source);
  });

  it('indents a child of several lines as a whole', () => {
    expect(afterEdits(source, (edit) => edit.insert(elementAt(edit, 'two'), ['<new>', '  <in/>', '</new>']))).toBe(
      `<d>\n\t<one/>\n\t<two>\n\t\t<x/>\n\t\t<new>\n\t\t  <in/>\n\t\t</new>\n\t</two><!-- end -->\n</d>\n`,
    );
  });

  it('opens an empty element, and indents by two spaces more if the element begins its line, but never in <a></a>', () => {
    const withNewChild = (text: string): string =>
      afterEdits(text, (edit) => edit.insert(elementAt(edit, 'a'), '<new/>'));
    expect(withNewChild(`<d>\n  <a b='1' />\n</d>`)).toBe(`<d>\n  <a b='1' >\n    <new/></a>\n</d>`);
    expect(withNewChild(`<d>\n  <a></a>\n</d>`)).toBe(`<d>\n  <a><new/></a>\n</d>`);
    expect(withNewChild(`<d>\n  <a>\n  </a>\n</d>`)).toBe(`<d>\n  <a>\n    <new/>\n  </a>\n</d>`);
    expect(withNewChild(`<d><a/></d>`)).toBe(`<d><a> <new/></a></d>`);
  });

  it('accepts the prefixes of the text, and rejects markup that is not well-formed', () => {
    const edit = new XmlEdit(`<d xmlns:q='urn:q'><a/></d>`);
    edit.insert(elementAt(edit, 'a'), '<q:x/>');
    const [added] = elementAt(edit, 'a').nodes;
    expect(added?.kind === 'element' ? [added.namespace, added.localName] : null).toEqual(['urn:q', 'x']);
    for (const markup of ['<x>', '</d><d>', '<p:x/>', '</a>', '<x a=1/>']) {
      expect(() => edit.insert(edit.root, markup)).toThrow('reading domain xml on line 1');
    }
    expect(edit.text()).toBe(`<d xmlns:q='urn:q'><a> <q:x/></a></d>`);
  });
});
