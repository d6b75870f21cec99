/**
 * Elements of a text that is edited. Unlike parsed elements, they have no offsets. Each element contains its
 * own part of the text, so an edit of one element does not affect the others.
 */
import { decodeCharacterData, withLineFeeds } from './escape.js';
import type { ParsedElement, ParsedOther } from './parse.js';
import type { XmlAttribute, XmlElementOf, XmlOther } from './tree.js';

/** An attribute. Its text is `lead`, the raw value, and a quote. */
interface EditedAttribute extends XmlAttribute {
  /** From the end of the previous attribute to the first quote, ` type='`. */
  readonly lead: string;
  /** The value as it is in the text, with its entities. */
  readonly raw: string;
  readonly quote: '"' | "'";
}

/** A node that is not an element, such as a comment, with its text. It never changes. */
export class EditedOther implements XmlOther {
  readonly kind = 'other';
  readonly markup: string;
  /** The text between the previous node, or the start tag, and this node. */
  before: string;

  constructor(before: string, markup: string) {
    this.before = before;
    this.markup = markup;
  }
}

/** An element, with its text. */
export class EditedElement implements XmlElementOf<EditedElement> {
  readonly kind = 'element';
  name: string;
  readonly localName: string;
  readonly namespace: string | null;
  parent: EditedElement | null;
  attributes: EditedAttribute[] = [];
  nodes: (EditedElement | EditedOther)[] = [];
  /** The text between the previous node, or the start tag of the parent, and this element. */
  before = '';
  /** The text between the last node, or the start tag, and the end tag. */
  tail = '';
  /** The end of the start tag, with white space: `>` or `/>`. */
  tagEnd = '/>';
  /** Empty for `<a/>`. */
  endTag = '';
  /**
   * Markup that replaces the element in the text, without being parsed; null: the element has its
   * own text.
   */
  replacement: string | null = null;

  constructor({ name, localName, namespace }: ParsedElement, parent: EditedElement | null) {
    this.name = name;
    this.localName = localName;
    this.namespace = namespace;
    this.parent = parent;
  }

  get text(): string {
    const texts = this.nodes.map(
      (node) => decodeCharacterData(node.before) + (node.kind === 'other' ? cdata(node) : ''),
    );
    return texts.join('') + decodeCharacterData(this.tail);
  }
}

function cdata({ markup }: EditedOther): string {
  return markup.startsWith('<![CDATA[') ? withLineFeeds(markup.slice('<![CDATA['.length, -']]>'.length)) : '';
}

/** Copies a parsed element with everything in it. */
export function copyElement(source: string, parsed: ParsedElement, parent: EditedElement | null): EditedElement {
  const element = new EditedElement(parsed, parent);
  let offset = parsed.start + '<'.length + parsed.name.length;
  for (const { name, value, valueStart, valueEnd, end } of parsed.attributes) {
    const quote = source[valueEnd] === '"' ? '"' : "'";
    element.attributes.push({
      name,
      value,
      lead: source.slice(offset, valueStart),
      raw: source.slice(valueStart, valueEnd),
      quote,
    });
    offset = end;
  }
  element.tagEnd = source.slice(offset, parsed.contentStart);
  element.endTag = source.slice(parsed.contentEnd, parsed.end);
  const { nodes, tail } = copyContent(source, parsed, element);
  element.nodes = nodes;
  element.tail = tail;
  return element;
}

/** Copies what an element contains. @param parent the element that gets the copies. */
export function copyContent(
  source: string,
  parsed: ParsedElement,
  parent: EditedElement | null,
): Pick<EditedElement, 'nodes' | 'tail'> {
  let offset = parsed.contentStart;
  const nodes = parsed.nodes.map((node) => {
    const copy = copyNode(source, node, parent);
    copy.before = source.slice(offset, node.start);
    offset = node.end;
    return copy;
  });
  return { nodes, tail: source.slice(offset, parsed.contentEnd) };
}

function copyNode(source: string, node: ParsedElement | ParsedOther, parent: EditedElement | null) {
  if (node.kind === 'element') return copyElement(source, node, parent);
  return new EditedOther('', source.slice(node.start, node.end));
}

/** Adds the parts of a node's text in order, without the text before it. */
export function addParts(node: EditedElement | EditedOther, parts: string[]): void {
  if (node.kind === 'other') {
    parts.push(node.markup);
    return;
  }
  if (node.replacement !== null) {
    parts.push(node.replacement);
    return;
  }
  parts.push('<', node.name);
  for (const { lead, raw, quote } of node.attributes) parts.push(lead, raw, quote);
  parts.push(node.tagEnd);
  for (const inner of node.nodes) {
    parts.push(inner.before);
    addParts(inner, parts);
  }
  parts.push(node.tail, node.endTag);
}

/** Returns the text of a node, without the text before it. */
export function markupOf(node: EditedElement | EditedOther): string {
  const parts: string[] = [];
  addParts(node, parts);
  return parts.join('');
}
