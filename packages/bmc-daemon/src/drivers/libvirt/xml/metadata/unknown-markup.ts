/** Unknown elements inside our metadata element, as markup that does not depend on its prefix. */
import { parseXml, type XmlDocument } from '../parse.js';
import type { XmlElement } from '../tree.js';
import { applySplices } from '../splice.js';

/** Renames the tags of an element and its descendants in our namespace, by splices. */
function renameTags(document: XmlDocument, element: XmlElement, rename: (name: XmlElement) => string): string {
  const tags = (node: XmlElement): readonly XmlElement[] => [
    node,
    ...node.nodes.flatMap((inner) => (inner.kind === 'element' ? tags(inner) : [])),
  ];
  const splices = tags(element).flatMap((node) => {
    const text = rename(node);
    const start = { start: node.start + 1, end: node.start + 1 + node.name.length, text };
    const end = { start: node.contentEnd + 2, end: node.contentEnd + 2 + node.name.length, text };
    return node.selfClosing ? [start] : [start, end];
  });
  const moved = splices.map(({ start, end, text }) => ({
    start: start - element.start,
    end: end - element.start,
    text,
  }));
  return applySplices(document.source.slice(element.start, element.end), moved);
}

/** Returns the markup of a child element, without the prefix of its parent. */
export function withoutPrefix(document: XmlDocument, own: XmlElement, element: XmlElement): string {
  return renameTags(document, element, (node) => (node.namespace === own.namespace ? node.localName : node.name));
}

/** Reverts {@link withoutPrefix} for a prefix, `rackless:`. */
export function withPrefix(markup: string, prefix: string): string {
  const document = parseXml(markup);
  return renameTags(document, document.root, (node) => (node.namespace === null ? prefix + node.name : node.name));
}
