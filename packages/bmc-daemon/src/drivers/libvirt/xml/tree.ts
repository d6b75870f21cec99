/**
 * Elements of an XML text, and functions that read them. They work for parsed texts and for edited
 * texts.
 */

/** One attribute. */
export interface XmlAttribute {
  /** As written, `xmlns:qemu`. */
  readonly name: string;
  /** Decoded. */
  readonly value: string;
}

/**
 * A comment, CDATA section or processing instruction. It never changes, but has a place among its
 * siblings.
 */
export interface XmlOther {
  readonly kind: 'other';
}

/** An element whose child elements have the type `Child`. */
export interface XmlElementOf<Child> {
  readonly kind: 'element';
  /** As written, `qemu:commandline`. */
  readonly name: string;
  /** Without the prefix. */
  readonly localName: string;
  /** Namespace of the prefix; null for libvirt's own elements, which have none. */
  readonly namespace: string | null;
  readonly attributes: readonly XmlAttribute[];
  readonly parent: XmlElement | null;
  /** Child elements, comments, CDATA and processing instructions in the order of the text. */
  readonly nodes: readonly (Child | XmlOther)[];
  /** Character data directly inside, CDATA included, decoded, not trimmed. */
  readonly text: string;
}

/** An element. */
export type XmlElement = XmlElementOf<XmlElement>;

/** Returns libvirt's own child elements, which have no namespace. With `name`, returns only those with this name. */
export function childElements<E extends XmlElementOf<E>>(element: E | undefined, name?: string): readonly E[] {
  if (element === undefined) return [];
  return element.nodes.filter((node): node is E => isOwn(node) && (name === undefined || node.name === name));
}

/**
 * Returns the first element of a path of libvirt's own names: `child(domain, 'cpu', 'topology')`; undefined if there
 * is none. Follows only the first element of each name.
 */
export function child<E extends XmlElementOf<E>>(element: E | undefined, ...path: readonly string[]): E | undefined {
  let found = element;
  for (const name of path) found = found?.nodes.find((node): node is E => isOwn(node) && node.name === name);
  return found;
}

function isOwn<E extends XmlElementOf<E>>(node: E | XmlOther): node is E {
  return node.kind === 'element' && node.namespace === null;
}

/** Returns the decoded value of an attribute; null if the element or the attribute is absent. */
export function attribute(element: Pick<XmlElement, 'attributes'> | undefined, name: string): string | null {
  return element?.attributes.find((candidate) => candidate.name === name)?.value ?? null;
}

/** Returns the trimmed text of an element; null if the element is absent or empty. */
export function textOf(element: Pick<XmlElement, 'text'> | undefined): string | null {
  const text = element?.text.trim() ?? '';
  return text === '' ? null : text;
}

const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace';

/**
 * Returns the namespace URI of a prefix (`''` is the default) at an element; null if it is not
 * declared.
 */
export function namespaceOf(element: Pick<XmlElement, 'attributes' | 'parent'> | null, prefix: string): string | null {
  if (prefix === 'xml') return XML_NAMESPACE;
  const declaration = prefix === '' ? 'xmlns' : `xmlns:${prefix}`;
  for (let scope = element; scope !== null; scope = scope.parent) {
    const found = attribute(scope, declaration);
    if (found !== null) return found === '' ? null : found;
  }
  return null;
}
