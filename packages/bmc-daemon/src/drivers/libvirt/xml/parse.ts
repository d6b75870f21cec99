/**
 * An XML parser that gives the position of everything in the text, so that an edit is a splice of
 * that text. No library returns unchanged what it was not asked to change.
 *
 * Why not a library: the tree libraries (xmldom, fast-xml-parser, libxmljs2) have no offsets.
 * saxes, the only tokenizer with positions, has them for tags only and not for attribute values.
 * libvirt writes a small, validated part of XML: one document, no DOCTYPE, only the five entities
 * of XML 1.0 and character references.
 */
import { DriverError } from '../../driver-error.js';

/** One attribute. `valueStart` and `valueEnd` are the offsets between its quotes. */
interface XmlAttribute {
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

/** A text and its root element. */
export interface XmlDocument {
  readonly source: string;
  readonly root: XmlElement;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };
interface OpenElement extends Omit<Writable<XmlElement>, 'nodes' | 'parent'> {
  nodes: (XmlElement | XmlOther)[];
  parent: OpenElement | null;
}

const NAMED_ENTITIES = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
]);

const NAME = /[^\s<>/=&'"]+/y;
const SPACE = /\s*/y;

const XML_NAMESPACE = 'http://www.w3.org/XML/1998/namespace';

function fault(source: string, offset: number, why: string): DriverError {
  // The text itself has passwords and must not be in the error.
  const line = source.slice(0, offset).split('\n').length;
  return new DriverError('internal', `reading domain xml on line ${line}: ${why}`);
}

/**
 * Decodes character data or a raw attribute value.
 * @throws {DriverError} internal, for an entity that XML 1.0 does not define.
 */
export function decodeText(raw: string): string {
  if (!raw.includes('&')) return raw;
  return raw.replace(/&([^;&]*);?/g, (whole, name: string) => {
    const named = NAMED_ENTITIES.get(name);
    if (named !== undefined) return named;
    const reference = /^#(?:x([0-9a-fA-F]+)|([0-9]+))$/.exec(name);
    const [, hex, decimal] = reference ?? [];
    const code = hex === undefined ? Number.parseInt(decimal ?? '', 10) : Number.parseInt(hex, 16);
    if (!whole.endsWith(';') || Number.isNaN(code) || code > 0x10ffff) {
      throw new DriverError('internal', `reading domain xml: unknown entity in ${JSON.stringify(whole.slice(0, 12))}`);
    }
    return String.fromCodePoint(code);
  });
}

/** Encodes text for use between tags. */
export function encodeText(text: string): string {
  // A parser would read a raw carriage return as a line feed (XML 1.0 §2.11).
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/\r/g, '&#13;');
}

/** Encodes text for use between these quotes. The other kind of quote stays. */
export function encodeAttribute(text: string, quote: '"' | "'" = "'"): string {
  return (
    encodeText(text)
      .replace(quote === "'" ? /'/g : /"/g, quote === "'" ? '&apos;' : '&quot;')
      // A parser normalizes attribute values: it would read a raw tab or line feed as a space (XML
      // 1.0 §3.3.3).
      .replace(/\t/g, '&#9;')
      .replace(/\n/g, '&#10;')
  );
}

/** The latest documents, newest first, because an operation reads the same text several times. */
const recent: XmlDocument[] = [];
/** Machines that are read at the same time, each with a definition and a running instance. */
const MAX_RECENT = 16;

/**
 * Parses one domain or metadata document.
 * @throws {DriverError} internal, with a line number, if it is not well-formed.
 */
export function parseXml(source: string): XmlDocument {
  // Texts of different machines differ in their first lines, so that the comparison is fast.
  const known = recent.find((document) => document.source === source);
  if (known !== undefined) return known;
  const document = parse(source);
  recent.unshift(document);
  if (recent.length > MAX_RECENT) recent.pop();
  return document;
}

function parse(source: string): XmlDocument {
  let at = source.startsWith('\ufeff') ? 1 : 0;
  const tree: { root: OpenElement | null; open: OpenElement | null } = { root: null, open: null };

  const find = (what: string, from: number): number => {
    const found = source.indexOf(what, from);
    if (found < 0) throw fault(source, at, `missing ${what}`);
    return found;
  };
  const skipSpace = (): void => {
    SPACE.lastIndex = at;
    SPACE.test(source);
    at = SPACE.lastIndex;
  };
  const readName = (): string => {
    NAME.lastIndex = at;
    const name = NAME.exec(source)?.[0];
    if (name === undefined) throw fault(source, at, 'a name is missing');
    at += name.length;
    return name;
  };

  const readAttribute = (): XmlAttribute => {
    const start = at;
    const name = readName();
    skipSpace();
    if (source[at] !== '=') throw fault(source, at, `attribute ${name} has no value`);
    at += 1;
    skipSpace();
    const quote = source[at];
    if (quote !== '"' && quote !== "'") throw fault(source, at, `the value of ${name} is not quoted`);
    const valueStart = at + 1;
    const valueEnd = find(quote, valueStart);
    at = valueEnd + 1;
    // Each raw white-space character in a value is a space (XML 1.0 §3.3.3).
    const value = decodeText(source.slice(valueStart, valueEnd).replace(/\r\n|[\t\r\n]/g, ' '));
    return { name, value, start, valueStart, valueEnd, end: at };
  };

  const readStartTag = (): void => {
    const start = at;
    at += 1;
    const name = readName();
    const attributes: XmlAttribute[] = [];
    skipSpace();
    while (at < source.length && source[at] !== '>' && source[at] !== '/') {
      const attribute = readAttribute();
      if (attributes.some((other) => other.name === attribute.name)) throw fault(source, at, `${attribute.name} twice`);
      attributes.push(attribute);
      skipSpace();
    }
    const selfClosing = source[at] === '/';
    if (selfClosing) at += 1;
    if (source[at] !== '>') throw fault(source, at, `the tag ${name} does not end`);
    at += 1;
    const colon = name.indexOf(':');
    const element: OpenElement = {
      kind: 'element',
      name,
      localName: name.slice(colon + 1),
      namespace: null,
      attributes,
      parent: tree.open,
      nodes: [],
      text: '',
      start,
      contentStart: at,
      contentEnd: at,
      end: at,
      selfClosing,
    };
    element.namespace = resolvePrefix(element, colon < 0 ? '' : name.slice(0, colon));
    if (colon >= 0 && element.namespace === null) throw fault(source, start, `the prefix of ${name} is not declared`);
    if (tree.open === null && tree.root !== null) throw fault(source, start, 'a second root element');
    tree.open?.nodes.push(element);
    tree.root ??= element;
    if (!selfClosing) tree.open = element;
  };

  const readEndTag = (): void => {
    const start = at;
    at += 2;
    const name = readName();
    skipSpace();
    if (tree.open?.name !== name || source[at] !== '>') throw fault(source, start, `unexpected end tag ${name}`);
    at += 1;
    tree.open.contentEnd = start;
    tree.open.end = at;
    tree.open = tree.open.parent;
  };

  while (at < source.length) {
    if (source[at] !== '<') {
      const next = source.indexOf('<', at);
      const end = next < 0 ? source.length : next;
      const raw = source.slice(at, end);
      if (tree.open !== null) tree.open.text += decodeText(raw.replace(/\r\n?/g, '\n'));
      else if (raw.trim() !== '') throw fault(source, at, 'text outside the root element');
      at = end;
    } else if (source.startsWith('</', at)) {
      readEndTag();
    } else if (source.startsWith('<!--', at)) {
      at = skipOther(tree.open, at, find('-->', at + 4) + 3);
    } else if (source.startsWith('<![CDATA[', at) && tree.open !== null) {
      const end = find(']]>', at);
      tree.open.text += source.slice(at + 9, end).replace(/\r\n?/g, '\n');
      at = skipOther(tree.open, at, end + 3);
    } else if (source.startsWith('<?', at)) {
      at = skipOther(tree.open, at, find('?>', at) + 2);
    } else if (source.startsWith('<!', at)) {
      // A DOCTYPE can define external and recursive entities. libvirt never writes one.
      throw fault(source, at, 'a declaration that libvirt does not write');
    } else {
      readStartTag();
    }
  }
  if (tree.open !== null) throw fault(source, tree.open.start, `${tree.open.name} is not closed`);
  if (tree.root === null) throw fault(source, 0, 'no element');
  return { source, root: tree.root };
}

function skipOther(parent: OpenElement | null, start: number, end: number): number {
  parent?.nodes.push({ kind: 'other', start, end });
  return end;
}

/**
 * Returns the namespace URI of a prefix (`''` is the default) at an element; null if it is not
 * declared.
 */
function resolvePrefix(element: XmlElement | null, prefix: string): string | null {
  if (prefix === 'xml') return XML_NAMESPACE;
  const declaration = prefix === '' ? 'xmlns' : `xmlns:${prefix}`;
  for (let scope = element; scope !== null; scope = scope.parent) {
    const found = scope.attributes.find((attribute) => attribute.name === declaration);
    if (found !== undefined) return found.value === '' ? null : found.value;
  }
  return null;
}

/** Returns child elements without a namespace (libvirt's own), all or those with one name. */
export function childElements(element: XmlElement | undefined, name?: string): readonly XmlElement[] {
  if (element === undefined) return [];
  return element.nodes.filter(
    (node): node is XmlElement =>
      node.kind === 'element' && node.namespace === null && (name === undefined || node.name === name),
  );
}

/**
 * Returns the first element of a path of libvirt's own names: `child(domain, 'cpu', 'topology')`.
 */
export function child(element: XmlElement | undefined, ...path: readonly string[]): XmlElement | undefined {
  let found = element;
  for (const name of path) {
    found = found?.nodes.find(
      (node): node is XmlElement => node.kind === 'element' && node.namespace === null && node.name === name,
    );
  }
  return found;
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
