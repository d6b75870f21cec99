/**
 * Edits XML text by splices. Functions here return {@link Splice}s, which replace a part of the
 * text. {@link applySplices} applies them all at once. The rest of the text stays byte for byte.
 */
import { encodeAttribute } from './escape.js';
import { type XmlDocument } from './parse.js';
import { attributeNode, type XmlElement, type XmlOther } from './tree.js';

/** Replaces `source[start, end)` by `text`; inserts it if both offsets are equal. */
export interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Returns the text with all splices. Insertions at one offset keep their order.
 * @throws {RangeError} if two splices overlap, because a wrong edit must not reach a machine.
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

/** Returns the indentation of a node; `''` if the node is not the first on its line. */
function indentOf(document: XmlDocument, node: XmlElement | XmlOther): string {
  return /\n[ \t]*$/.exec(document.source.slice(0, node.start))?.[0] ?? '';
}

/**
 * Sets an attribute with its present quotes. A new attribute goes after the last one, with the
 * quotes of that one.
 */
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

/** Removes an attribute with the white space before it. Ignores an absent one. */
export function removeAttribute(document: XmlDocument, element: XmlElement, name: string): readonly Splice[] {
  const existing = attributeNode(element, name);
  if (existing === undefined) return [];
  return [{ start: spaceBefore(document.source, existing.start), end: existing.end, text: '' }];
}

/**
 * Removes an element with the white space before it, so that no blank line stays. Reverts {@link
 * insertChild}.
 */
export function removeElement(document: XmlDocument, element: XmlElement): Splice {
  return { start: spaceBefore(document.source, element.start), end: element.end, text: '' };
}

/** Replaces an element by markup. */
export function replaceElement(element: XmlElement, markup: string): Splice {
  return { start: element.start, end: element.end, text: markup };
}

/**
 * Inserts markup as a child. It gets its own line, with the indentation of its siblings, if they
 * have their own lines. {@link removeElement} reverts this exactly, except that `<a/>` becomes a
 * pair of tags.
 * @param markup an array of lines is indented; a string is inserted unchanged.
 * @param after the preceding child; null: insert as the first; absent: as the last.
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
    // White space before the child shows that the element had no end tag. `<a></a>` gets none.
    const start = parent.end - '/>'.length;
    return { start, end: parent.end, text: `>${text(lead === '' ? ' ' : lead)}</${parent.name}>` };
  }
  const previous = after === undefined ? parent.nodes.at(-1) : after;
  const at = previous?.end ?? parent.contentStart;
  return { start: at, end: at, text: text(parent.contentStart === parent.contentEnd ? '' : lead) };
}

/** Returns the text of an element in the document. */
export function sourceOf(document: XmlDocument, element: XmlElement): string {
  return document.source.slice(element.start, element.end);
}

/** Returns the indentation of a first child: two spaces more than its parent, as libvirt does. */
function childIndent(document: XmlDocument, parent: XmlElement): string {
  const own = indentOf(document, parent);
  if (own !== '') return `${own}  `;
  return parent.parent === null ? '\n  ' : '';
}

/** Returns the offset of the white space that ends at `at`. */
export function spaceBefore(source: string, at: number): number {
  let start = at;
  while (start > 0 && /\s/.test(source.charAt(start - 1))) start -= 1;
  return start;
}
