/** Elements of a parsed XML text, and functions that read them. */

/** One attribute. `valueStart` and `valueEnd` are the offsets between its quotes. */
export interface XmlAttribute {
  /** As written, `xmlns:qemu`. */
  readonly name: string;
  /** Decoded. */
  readonly value: string;
  /** Offset of the name. */
  readonly start: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Offset after the closing quote. */
  readonly end: number;
}

/**
 * A comment, CDATA section or processing instruction. It never changes, but has a place among its
 * siblings.
 */
export interface XmlOther {
  readonly kind: 'other';
  readonly start: number;
  readonly end: number;
}

/** An element with its place in the text. */
export interface XmlElement {
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
  readonly nodes: readonly (XmlElement | XmlOther)[];
  /** Character data directly inside, CDATA included, decoded, not trimmed. */
  readonly text: string;
  /** Offset of `<`. */
  readonly start: number;
  /** Offset after the start tag's `>`. */
  readonly contentStart: number;
  /** Offset of the end tag's `<`; for `<a/>` the same as `contentStart`. */
  readonly contentEnd: number;
  /** Offset after the element. */
  readonly end: number;
  readonly selfClosing: boolean;
}

/** Returns child elements without a namespace (libvirt's own), all or those with one name. */
export function childElements(element: XmlElement | undefined, name?: string): readonly XmlElement[] {
  if (element === undefined) return [];
  return element.nodes.filter((node): node is XmlElement => isOwn(node) && (name === undefined || node.name === name));
}

/**
 * Returns the first element of a path of libvirt's own names: `child(domain, 'cpu', 'topology')`.
 */
export function child(element: XmlElement | undefined, ...path: readonly string[]): XmlElement | undefined {
  let found = element;
  for (const name of path) found = found?.nodes.find((node): node is XmlElement => isOwn(node) && node.name === name);
  return found;
}

function isOwn(node: XmlElement | XmlOther): node is XmlElement {
  return node.kind === 'element' && node.namespace === null;
}

/** Returns the attribute with that name as written. */
export function attributeNode(element: XmlElement | undefined, name: string): XmlAttribute | undefined {
  return element?.attributes.find((candidate) => candidate.name === name);
}

/** Returns the decoded value of an attribute; null if the element or the attribute is absent. */
export function attribute(element: XmlElement | undefined, name: string): string | null {
  return attributeNode(element, name)?.value ?? null;
}

/** Returns the trimmed text of an element; null if the element is absent or empty. */
export function textOf(element: XmlElement | undefined): string | null {
  const text = element?.text.trim() ?? '';
  return text === '' ? null : text;
}

const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace';

/**
 * Returns the namespace URI of a prefix (`''` is the default) at an element; null if it is not
 * declared.
 */
export function namespaceOf(element: XmlElement | null, prefix: string): string | null {
  if (prefix === 'xml') return XML_NAMESPACE;
  const declaration = prefix === '' ? 'xmlns' : `xmlns:${prefix}`;
  for (let scope = element; scope !== null; scope = scope.parent) {
    const found = attribute(scope, declaration);
    if (found !== null) return found === '' ? null : found;
  }
  return null;
}
