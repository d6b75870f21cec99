/**
 * Converts unknown elements inside the daemon's metadata element: their markup must not depend on the prefix
 * of this element.
 */
import { copyElement, markupOf, type EditedElement } from '../edited-element.js';
import { XmlParser, type ParsedElement, type XmlDocument } from '../parse.js';

/** Returns the markup of a child element, without the prefix of its parent. */
export function withoutPrefix({ source }: XmlDocument, own: ParsedElement, element: ParsedElement): string {
  const copy = copyElement(source, element, null);
  renameTags(copy, (node) => (node.namespace === own.namespace ? node.localName : node.name));
  return markupOf(copy);
}

/**
 * Reverts {@link withoutPrefix}.
 * @param prefix with its colon, such as `rackless:`.
 * @throws {DriverError} internal, if the markup is not well-formed.
 */
export function withPrefix(markup: string, prefix: string): string {
  const copy = copyElement(markup, new XmlParser(markup).document().root, null);
  renameTags(copy, (node) => (node.namespace === null ? prefix + node.name : node.name));
  return markupOf(copy);
}

/** Renames an element and its descendants. */
function renameTags(element: EditedElement, rename: (element: EditedElement) => string): void {
  const name = rename(element);
  element.endTag = element.endTag.replace(element.name, () => name);
  element.name = name;
  for (const node of element.nodes) if (node.kind === 'element') renameTags(node, rename);
}
