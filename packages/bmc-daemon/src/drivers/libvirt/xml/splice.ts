/**
 * Edits of XML text as splices. Functions here give {@link Splice}s, plain replacements of a stretch of the text;
 * {@link applySplices} carries out any number of them at once. What no splice covers stays byte for byte.
 */
import { attributeNode, encodeAttribute } from './parse.js';
import type { XmlDocument, XmlElement, XmlOther } from './parse.js';

/** Put `text` in the place of `source[start, end)`; an insertion where both are the same. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * The text with all splices carried out. Insertions at one offset keep the order in which they are given.
 * @throws {RangeError} where two splices overlap: an edit that was computed wrongly must not reach a machine.
 */
export function applySplices(source: string, splices: readonly Splice[]): string {
  const ordered = [...splices].sort((a, b) => a.start - b.start || a.end - b.end);
  let result = '';
  let at = 0;
  for (const splice of ordered) {
    if (splice.start < at || splice.end < splice.start || splice.end > source.length) {
      throw new RangeError(`splicing domain xml at ${splice.start}: overlapping or outside the text`);
    }
    result += source.slice(at, splice.start) + splice.text;
    at = splice.end;
  }
  return result + source.slice(at);
}

/** The white space from the line break before a node to the node; `''` where something else stands before it on its line. */
function indentOf(document: XmlDocument, node: XmlElement | XmlOther): string {
  return /\n[ \t]*$/.exec(document.source.slice(0, node.start))?.[0] ?? '';
}

/** Sets an attribute, in the quotes that it has; a new one goes behind the last, in the quotes of that one. */
export function setAttribute(document: XmlDocument, element: XmlElement, name: string, value: string): Splice {
  const existing = attributeNode(element, name);
  if (existing !== undefined) {
    const quote = document.source[existing.valueEnd] === '"' ? '"' : "'";
    return { start: existing.valueStart, end: existing.valueEnd, text: encodeAttribute(value, quote) };
  }
  const last = element.attributes.at(-1);
  const at = last?.end ?? element.start + 1 + element.name.length;
  const quote = last !== undefined && document.source[last.valueEnd] === '"' ? '"' : "'";
  return { start: at, end: at, text: ` ${name}=${quote}${encodeAttribute(value, quote)}${quote}` };
}

/** Removes an attribute together with the white space before it; nothing where it is absent. */
export function removeAttribute(document: XmlDocument, element: XmlElement, name: string): readonly Splice[] {
  const existing = attributeNode(element, name);
  if (existing === undefined) return [];
  return [{ start: spaceBefore(document.source, existing.start), end: existing.end, text: '' }];
}

/** Removes an element together with the white space before it, so that no blank line stays: undoes {@link insertChild}. */
export function removeElement(document: XmlDocument, element: XmlElement): Splice {
  return { start: spaceBefore(document.source, element.start), end: element.end, text: '' };
}

/** Puts markup in the place of an element. */
export function replaceElement(element: XmlElement, markup: string): Splice {
  return { start: element.start, end: element.end, text: markup };
}

/**
 * Inserts markup as a child, on a line of its own with the indentation of its siblings where they have lines of their own.
 * {@link removeElement} takes it back exactly, save that `<a/>` is then a pair of tags.
 * @param markup where it is to be indented as a whole, its lines; a string is inserted as it is, line breaks in it too.
 * @param after the child to stand behind; null: before all others; absent: behind the last.
 */
export function insertChild(
  document: XmlDocument,
  parent: XmlElement,
  markup: string | readonly string[],
  after?: XmlElement | XmlOther | null,
): Splice {
  const sibling = after ?? parent.nodes[0];
  const lead = sibling === undefined ? childIndent(document, parent) : indentOf(document, sibling);
  const lines = typeof markup === 'string' ? [markup] : markup;
  const text = (before: string): string => lines.map((line) => before + line).join('');
  if (parent.selfClosing) {
    // White space before the child marks an element that had no end tag: `<a></a>` gets none.
    const start = parent.end - '/>'.length;
    return { start, end: parent.end, text: `>${text(lead === '' ? ' ' : lead)}</${parent.name}>` };
  }
  const previous = after === undefined ? parent.nodes.at(-1) : after;
  const at = previous?.end ?? parent.contentStart;
  return { start: at, end: at, text: text(parent.contentStart === parent.contentEnd ? '' : lead) };
}

/** The elements' own text, as it stands in the document. */
export function sourceOf(document: XmlDocument, element: XmlElement): string {
  return document.source.slice(element.start, element.end);
}

/** Where an element has no children to learn from: two spaces more than itself, libvirt's own step. */
function childIndent(document: XmlDocument, parent: XmlElement): string {
  const own = indentOf(document, parent);
  if (own !== '') return `${own}  `;
  return parent.parent === null ? '\n  ' : '';
}

/** Offset of the white space that ends at `at`. */
export function spaceBefore(source: string, at: number): number {
  let start = at;
  while (start > 0 && /\s/.test(source.charAt(start - 1))) start -= 1;
  return start;
}
