/**
 * An XML reader that says where everything stands in the text, so that an edit is a splice of that text: no library
 * gives back unchanged what it was not asked to change.
 *
 * Why not a library: the trees (xmldom, fast-xml-parser, libxmljs2) know no offsets, and saxes, the one tokenizer that counts
 * positions, gives them for tags only, never for an attribute's value. What libvirt serialises is a small, already validated
 * part of XML: one document, no DOCTYPE, no entities but the five of XML 1.0 and character references.
 */
import { DriverError } from '../../driver.js';

/** One attribute; `valueStart` and `valueEnd` enclose what stands between its quotes. */
export interface XmlAttribute {
  /** As written, `xmlns:qemu`. */
  readonly name: string;
  /** Decoded. */
  readonly value: string;
  /** Offset of the name. */
  readonly start: number;
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Offset behind the closing quote. */
  readonly end: number;
}

/** A comment, CDATA section or processing instruction: never touched, but it has a place among its siblings. */
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
  /** What the prefix stands for here; null for libvirt's own elements, which have none. */
  readonly namespace: string | null;
  readonly attributes: readonly XmlAttribute[];
  readonly parent: XmlElement | null;
  /** Child elements, comments, CDATA and processing instructions in the order of the text. */
  readonly nodes: readonly (XmlElement | XmlOther)[];
  /** Character data directly inside, CDATA included, decoded, not trimmed. */
  readonly text: string;
  /** Offset of `<`. */
  readonly start: number;
  /** Offset behind the start tag's `>`. */
  readonly contentStart: number;
  /** Offset of the end tag's `<`; for `<a/>` the same as `contentStart`. */
  readonly contentEnd: number;
  /** Offset behind the element. */
  readonly end: number;
  readonly selfClosing: boolean;
}

/** A text and its root. */
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
  // Never the text itself: it holds passwords.
  const line = source.slice(0, offset).split('\n').length;
  return new DriverError('internal', `reading domain xml on line ${line}: ${why}`);
}

/**
 * Character data or an attribute's raw value as the characters it stands for.
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

/** Text for between two tags. */
export function encodeText(text: string): string {
  // A raw carriage return would come back as a line feed (XML 1.0 §2.11).
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/\r/g, '&#13;');
}

/** Text for between two quotes of the kind given; the other kind stays as it is. */
export function encodeAttribute(text: string, quote: '"' | "'" = "'"): string {
  return (
    encodeText(text)
      .replace(quote === "'" ? /'/g : /"/g, quote === "'" ? '&apos;' : '&quot;')
      // Attribute values are normalised: a raw tab or line feed would come back as a space (XML 1.0 §3.3.3).
      .replace(/\t/g, '&#9;')
      .replace(/\n/g, '&#10;')
  );
}

/** Documents that were parsed last, the newest first: one operation reads the same text in several ways. */
const recent: XmlDocument[] = [];
/** As many machines as are read at the same time, each with a definition and a running instance. */
const MOST_RECENT = 16;

/** Reads one domain (or metadata) document. @throws {DriverError} internal, with a line number, where it is not well-formed. */
export function parseXml(source: string): XmlDocument {
  // Texts of different machines differ within their first lines, so a comparison costs little.
  const known = recent.find((document) => document.source === source);
  if (known !== undefined) return known;
  const document = parse(source);
  recent.unshift(document);
  if (recent.length > MOST_RECENT) recent.pop();
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
    // Raw white space in a value reads as a space each (XML 1.0 §3.3.3).
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
      // A DOCTYPE can define entities, external and recursive ones too; libvirt never writes one.
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

/** The namespace URI that a prefix (`''` is the default one) stands for at an element; null where it is not declared. */
function resolvePrefix(element: XmlElement | null, prefix: string): string | null {
  if (prefix === 'xml') return XML_NAMESPACE;
  const declaration = prefix === '' ? 'xmlns' : `xmlns:${prefix}`;
  for (let scope = element; scope !== null; scope = scope.parent) {
    const found = scope.attributes.find((attribute) => attribute.name === declaration);
    if (found !== undefined) return found.value === '' ? null : found.value;
  }
  return null;
}

/** Child elements of libvirt's own vocabulary (no namespace), all or those of one name. */
export function childElements(element: XmlElement | undefined, name?: string): readonly XmlElement[] {
  if (element === undefined) return [];
  return element.nodes.filter(
    (node): node is XmlElement =>
      node.kind === 'element' && node.namespace === null && (name === undefined || node.name === name),
  );
}

/** The first element down a path of libvirt's own names: `child(domain, 'cpu', 'topology')`. */
export function child(element: XmlElement | undefined, ...path: readonly string[]): XmlElement | undefined {
  let found = element;
  for (const name of path) {
    found = found?.nodes.find(
      (node): node is XmlElement => node.kind === 'element' && node.namespace === null && node.name === name,
    );
  }
  return found;
}

/** The attribute of that name as written. */
export function attributeNode(element: XmlElement | undefined, name: string): XmlAttribute | undefined {
  return element?.attributes.find((candidate) => candidate.name === name);
}

/** An attribute's decoded value; null where the element or the attribute is absent. */
export function attribute(element: XmlElement | undefined, name: string): string | null {
  return attributeNode(element, name)?.value ?? null;
}

/** An element's trimmed text; null where the element is absent or has none. */
export function textOf(element: XmlElement | undefined): string | null {
  const text = element?.text.trim() ?? '';
  return text === '' ? null : text;
}
