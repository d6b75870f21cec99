/**
 * An XML parser that gives the position of everything in the text, so that an edit keeps all other
 * bytes.
 *
 * No library does this: the tree libraries (xmldom, fast-xml-parser, libxmljs2) have no offsets.
 * saxes, the only tokenizer with positions, has them for tags only and not for attribute values.
 * libvirt writes well-formed XML, and uses only a small subset of the language: one document, no
 * DOCTYPE, only the five entities of XML 1.0 and character references.
 */
import { DriverError } from '../../driver-error.js';
import { decodeAttribute, decodeCharacterData, withLineFeeds } from './escape.js';
import { namespaceOf, type XmlAttribute, type XmlElement, type XmlElementOf, type XmlOther } from './tree.js';

/** One attribute. `valueStart` and `valueEnd` are the offsets between its quotes. */
interface ParsedAttribute extends XmlAttribute {
  readonly valueStart: number;
  readonly valueEnd: number;
  /** Offset of the name. */
  readonly start: number;
  /** Offset after the closing quote. */
  readonly end: number;
}

/** A comment, CDATA section or processing instruction with its place in the text. */
export interface ParsedOther extends XmlOther {
  readonly start: number;
  readonly end: number;
}

/** An element with its place in the text. */
export interface ParsedElement extends XmlElementOf<ParsedElement> {
  readonly attributes: readonly ParsedAttribute[];
  readonly nodes: readonly (ParsedElement | ParsedOther)[];
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
  readonly root: ParsedElement;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };
interface OpenElement extends Omit<Writable<ParsedElement>, 'nodes'> {
  nodes: (ParsedElement | ParsedOther)[];
}

const NAME = /[^\s<>/=&'"]+/y;
const SPACE = /\s*/y;

/** Cache of the latest documents, newest first: an operation reads the same text several times. */
const recent: XmlDocument[] = [];
/**
 * Size of the cache. It is enough for machines that are read at the same time, each with a
 * definition and a running instance.
 */
const MAX_RECENT = 16;

/**
 * Parses one document. Returns the same object for a text that was parsed recently.
 * @throws {DriverError} internal, if it is not well-formed; with a line number, unless an entity is unknown.
 */
export function parseXml(source: string): XmlDocument {
  // The comparison is fast, because texts of different machines differ in their first lines.
  const cached = recent.find((document) => document.source === source);
  if (cached !== undefined) return cached;
  const document = new XmlParser(source).document();
  recent.unshift(document);
  if (recent.length > MAX_RECENT) recent.pop();
  return document;
}

/**
 * Parses markup that becomes part of a document: elements and text in any number.
 * @param scope the element around it, for the prefixes of namespaces.
 * @returns the markup; its root is an artificial element, which has no tags.
 * @throws {DriverError} internal, if it is not well-formed.
 */
export function parseFragment(markup: string, scope: XmlElement): XmlDocument {
  return { source: markup, root: new XmlParser(markup, scope).content() };
}

/** Parses one text. Its methods read at the current offset and move it forward. */
export class XmlParser {
  readonly #source: string;
  readonly #scope: XmlElement | null;
  /** The elements that are not closed yet. The first one is artificial: it contains the whole source. */
  readonly #open: OpenElement[] = [];
  #at = 0;

  /** @param scope the element around a fragment; null for a document. */
  constructor(source: string, scope: XmlElement | null = null) {
    this.#source = source;
    this.#scope = scope;
  }

  /** Parses a document. @throws {DriverError} internal. */
  document(): XmlDocument {
    if (this.#source.startsWith('\ufeff')) this.#at = 1;
    const root = this.content().nodes.find((node): node is ParsedElement => node.kind === 'element');
    if (root === undefined) throw this.#fault(0, 'no element');
    return { source: this.#source, root };
  }

  /** Parses markup. Returns an artificial element that contains it. @throws {DriverError} internal. */
  content(): ParsedElement {
    const source = this.#source;
    const top = newElement('', { start: 0, contentStart: this.#at, parent: this.#scope });
    this.#open.push(top);
    while (this.#at < source.length) this.#readNode();
    const last = this.#current();
    if (last !== top) throw this.#fault(last.start, `${last.name} is not closed`);
    top.contentEnd = source.length;
    top.end = source.length;
    return top;
  }

  #readNode(): void {
    const source = this.#source;
    const at = this.#at;
    if (source[at] !== '<') this.#readText();
    else if (source.startsWith('</', at)) this.#readEndTag();
    else if (source.startsWith('<!--', at)) this.#addOther(this.#find('-->', at + 4) + 3);
    else if (source.startsWith('<![CDATA[', at) && !this.#isOutside()) {
      const end = this.#find(']]>', at);
      this.#current().text += withLineFeeds(source.slice(at + 9, end));
      this.#addOther(end + 3);
    } else if (source.startsWith('<?', at)) this.#addOther(this.#find('?>', at) + 2);
    // A DOCTYPE can define external and recursive entities. libvirt never writes one.
    else if (source.startsWith('<!', at)) throw this.#fault(at, 'a declaration that libvirt does not write');
    else this.#readStartTag();
  }

  #readText(): void {
    const next = this.#source.indexOf('<', this.#at);
    const end = next < 0 ? this.#source.length : next;
    const raw = this.#source.slice(this.#at, end);
    if (!this.#isOutside()) this.#current().text += decodeCharacterData(raw);
    else if (raw.trim() !== '') throw this.#fault(this.#at, 'text outside the root element');
    this.#at = end;
  }

  #readStartTag(): void {
    const start = this.#at;
    this.#at += 1;
    const name = this.#readName();
    const attributes = this.#readAttributes();
    const selfClosing = this.#source[this.#at] === '/';
    if (selfClosing) this.#at += 1;
    if (this.#source[this.#at] !== '>') throw this.#fault(this.#at, `the tag ${name} does not end`);
    this.#at += 1;
    const colon = name.indexOf(':');
    const above = this.#current();
    const isTop = this.#open.length === 1;
    const parent = isTop ? this.#scope : above;
    const element = newElement(name, { start, contentStart: this.#at, parent, attributes, selfClosing });
    element.namespace = namespaceOf(element, colon < 0 ? '' : name.slice(0, colon));
    if (colon >= 0 && element.namespace === null) throw this.#fault(start, `the prefix of ${name} is not declared`);
    if (this.#isOutside() && above.nodes.some(({ kind }) => kind === 'element')) {
      throw this.#fault(start, 'a second root element');
    }
    above.nodes.push(element);
    if (!selfClosing) this.#open.push(element);
  }

  #readEndTag(): void {
    const start = this.#at;
    this.#at += 2;
    const name = this.#readName();
    this.#skipSpace();
    const element = this.#current();
    if (this.#open.length === 1 || element.name !== name || this.#source[this.#at] !== '>') {
      throw this.#fault(start, `unexpected end tag ${name}`);
    }
    this.#at += 1;
    element.contentEnd = start;
    element.end = this.#at;
    this.#open.pop();
  }

  #readAttributes(): readonly ParsedAttribute[] {
    const source = this.#source;
    const attributes: ParsedAttribute[] = [];
    this.#skipSpace();
    while (this.#at < source.length && source[this.#at] !== '>' && source[this.#at] !== '/') {
      const attribute = this.#readAttribute();
      if (attributes.some((other) => other.name === attribute.name)) {
        throw this.#fault(this.#at, `attribute ${attribute.name} occurs twice`);
      }
      attributes.push(attribute);
      this.#skipSpace();
    }
    return attributes;
  }

  #readAttribute(): ParsedAttribute {
    const source = this.#source;
    const start = this.#at;
    const name = this.#readName();
    this.#skipSpace();
    if (source[this.#at] !== '=') throw this.#fault(this.#at, `attribute ${name} has no value`);
    this.#at += 1;
    this.#skipSpace();
    const quote = source[this.#at];
    if (quote !== '"' && quote !== "'") throw this.#fault(this.#at, `the value of ${name} is not quoted`);
    const valueStart = this.#at + 1;
    const valueEnd = this.#find(quote, valueStart);
    this.#at = valueEnd + 1;
    const value = decodeAttribute(source.slice(valueStart, valueEnd));
    return { name, value, start, valueStart, valueEnd, end: this.#at };
  }

  #readName(): string {
    NAME.lastIndex = this.#at;
    const name = NAME.exec(this.#source)?.[0];
    if (name === undefined) throw this.#fault(this.#at, 'a name is missing');
    this.#at += name.length;
    return name;
  }

  #skipSpace(): void {
    SPACE.lastIndex = this.#at;
    SPACE.test(this.#source);
    this.#at = SPACE.lastIndex;
  }

  #addOther(end: number): void {
    this.#current().nodes.push({ kind: 'other', start: this.#at, end });
    this.#at = end;
  }

  #find(what: string, from: number): number {
    const found = this.#source.indexOf(what, from);
    if (found < 0) throw this.#fault(this.#at, `missing ${what}`);
    return found;
  }

  /** Returns the innermost open element. */
  #current(): OpenElement {
    const element = this.#open.at(-1);
    if (element === undefined) throw new RangeError('parsing xml: no element is open');
    return element;
  }

  /** Returns whether the parser is outside the root element of a document. */
  #isOutside(): boolean {
    return this.#open.length === 1 && this.#scope === null;
  }

  #fault(offset: number, why: string): DriverError {
    // The error must not contain the text, because it may contain passwords.
    const line = this.#source.slice(0, offset).split('\n').length;
    return new DriverError('internal', `reading domain xml on line ${line}: ${why}`);
  }
}

function newElement(
  name: string,
  {
    contentStart,
    attributes = [],
    selfClosing = false,
    ...rest
  }: Pick<ParsedElement, 'start' | 'contentStart' | 'parent'> &
    Partial<Pick<ParsedElement, 'attributes' | 'selfClosing'>>,
): OpenElement {
  return {
    kind: 'element',
    name,
    localName: name.slice(name.indexOf(':') + 1),
    namespace: null,
    attributes,
    parent: rest.parent,
    nodes: [],
    text: '',
    start: rest.start,
    contentStart,
    contentEnd: contentStart,
    end: contentStart,
    selfClosing,
  };
}
