/**
 * Edits an XML text. The text is parsed once, and each edit changes the elements, so that a later
 * edit reads what an earlier one has set. `text()` builds the new text from the elements. Everything
 * that no edit changes stays byte for byte.
 *
 * Edits cannot overlap, because they change elements and not ranges of the text. Of two edits of
 * one attribute, the later one applies. An edit of a removed element throws, so that no edit is
 * lost silently. Exception: {@link XmlEdit.setMarkup} hides all edits of the element and its content.
 */
import { addParts, copyContent, copyElement, EditedElement, markupOf, type EditedOther } from './edited-element.js';
import { decodeAttribute, encodeAttribute, encodeText } from './escape.js';
import { parseFragment, parseXml, type XmlDocument } from './parse.js';
import type { XmlElement, XmlOther } from './tree.js';

/** The edits of one text. All elements must be elements of {@link XmlEdit.root}. */
export class XmlEdit {
  readonly source: string;
  readonly #root: EditedElement;
  /** The text before and after the root element. */
  readonly #around: readonly [string, string];
  #version = 0;
  #isTouched = false;

  /**
   * @param document a text, or a parsed text, which stays as it is.
   * @throws {DriverError} internal, for a text that is not well-formed.
   */
  constructor(document: XmlDocument | string) {
    const { source, root } = typeof document === 'string' ? parseXml(document) : document;
    this.source = source;
    this.#root = copyElement(source, root, null);
    this.#around = [source.slice(0, root.start), source.slice(root.end)];
    this.#root.before = this.#around[0];
  }

  /** The root element with all edits so far. */
  get root(): XmlElement {
    return this.#root;
  }

  /**
   * Grows with each edit except {@link setMarkup}. Values that were read at another version may be
   * outdated.
   */
  get version(): number {
    return this.#version;
  }

  /** Returns the text with all edits. */
  text(): string {
    return this.#isTouched ? this.#parts().join('') : this.source;
  }

  /** Returns whether the edits change the text, without building the new text. */
  isChanged(): boolean {
    if (!this.#isTouched) return false;
    let offset = 0;
    for (const part of this.#parts()) {
      if (!this.source.startsWith(part, offset)) return true;
      offset += part.length;
    }
    return offset !== this.source.length;
  }

  /** Returns the current text of an element. */
  markupOf(element: XmlElement): string {
    return markupOf(this.#own(element));
  }

  /** Returns the current text of an element, with the white space before it. */
  indentedMarkupOf(element: XmlElement): string {
    const own = this.#own(element);
    return trailingSpace(own.before) + markupOf(own);
  }

  /** Returns an attribute as written between its quotes, not decoded; undefined if it is absent. */
  rawAttribute(element: XmlElement, name: string): string | undefined {
    return this.#own(element).attributes.find((candidate) => candidate.name === name)?.raw;
  }

  /**
   * Sets an attribute, and keeps its quotes. A new attribute goes after the last one, with the
   * quotes of that one. The first attribute of an element gets single quotes.
   */
  setAttribute(element: XmlElement, name: string, value: string): void {
    const { attributes } = this.#own(element);
    const quote = (attributes.find((candidate) => candidate.name === name) ?? attributes.at(-1))?.quote ?? "'";
    this.setRawAttribute(element, name, encodeAttribute(value, quote));
  }

  /**
   * Sets an attribute as {@link setAttribute}.
   * @param raw its text between the quotes, as {@link rawAttribute} has returned it.
   */
  setRawAttribute(element: XmlElement, name: string, raw: string): void {
    const { attributes } = this.#own(element);
    const value = decodeAttribute(raw);
    const place = attributes.findIndex((candidate) => candidate.name === name);
    const existing = attributes[place];
    this.#changed();
    if (existing !== undefined) attributes[place] = { ...existing, raw, value };
    else {
      const quote = attributes.at(-1)?.quote ?? "'";
      attributes.push({ name, value, lead: ` ${name}=${quote}`, raw, quote });
    }
  }

  /** Removes an attribute with the white space before it. Ignores an absent one. */
  removeAttribute(element: XmlElement, name: string): void {
    const own = this.#own(element);
    own.attributes = own.attributes.filter((candidate) => candidate.name !== name);
    this.#changed();
  }

  /** Replaces everything in an element by text. */
  setText(element: XmlElement, text: string): void {
    const own = this.#own(element);
    for (const node of own.nodes) detach(node);
    own.nodes = [];
    open(own);
    own.tail = encodeText(text);
    this.#changed();
  }

  /**
   * Replaces the whole text of an element, including its tags. Reads of its attributes and its
   * content still return the old ones. Use this only for an element that no edit reads.
   */
  setMarkup(element: XmlElement, markup: string): void {
    this.#own(element).replacement = markup;
    this.#isTouched = true;
  }

  /**
   * Removes an element with the white space before it, so that no blank line stays. Reverts {@link
   * insert}, except for an added end tag: see {@link revertInsert}.
   */
  remove(element: XmlElement): void {
    const own = this.#own(element);
    const parent = parentOf(own);
    const place = parent.nodes.indexOf(own);
    const left = own.before.slice(0, own.before.length - trailingSpace(own.before).length);
    parent.nodes.splice(place, 1);
    prepend(parent, place, left);
    detach(own);
    this.#changed();
  }

  /** Removes an element as {@link remove}. Also removes the end tag that {@link insert} has added to `<a/>`. */
  revertInsert(element: XmlElement): void {
    const own = this.#own(element);
    const parent = parentOf(own);
    const wasSelfClosing =
      parent.nodes.length === 1 && own.before !== '' && own.before.trim() === '' && parent.tail === '';
    this.remove(element);
    if (!wasSelfClosing) return;
    parent.tagEnd = `${parent.tagEnd.slice(0, -'>'.length)}/>`;
    parent.endTag = '';
  }

  /** Replaces an element by markup. @throws {DriverError} internal, if the markup is not well-formed. */
  replace(element: XmlElement, markup: string): void {
    const own = this.#own(element);
    const parent = parentOf(own);
    const place = parent.nodes.indexOf(own);
    parent.nodes.splice(place, 1);
    this.#insertAt(parent, place, own.before + markup);
    detach(own);
  }

  /**
   * Inserts markup as a child. If the siblings have their own lines, the child also gets its own
   * line, with the same indentation. {@link remove} reverts this exactly, except that `<a/>`
   * becomes a pair of tags.
   * @param markup an array: each line gets the indentation; a string: only its beginning gets the indentation.
   * @param after the preceding child; null: insert as the first; absent: as the last.
   * @throws {DriverError} internal, if the markup is not well-formed.
   */
  insert(parent: XmlElement, markup: string | readonly string[], after?: XmlElement | null): void {
    const own = this.#own(parent);
    const sibling = after === undefined || after === null ? own.nodes[0] : this.#own(after);
    const lead = sibling === undefined ? childIndent(own) : indentOf(sibling);
    const lines = typeof markup === 'string' ? [markup] : markup;
    const text = (before: string): string => lines.map((line) => before + line).join('');
    if (open(own)) {
      // White space before the child shows {@link revertInsert} that this method has added the end
      // tag. A child of `<a></a>` gets no white space.
      this.#insertAt(own, 0, text(lead === '' ? ' ' : lead));
      return;
    }
    const isEmpty = own.nodes.length === 0 && own.tail === '';
    this.#insertAt(own, placeAfter(own, after), text(isEmpty ? '' : lead));
  }

  /**
   * Inserts markup unchanged, with the white space that it begins with.
   * @param after the preceding node; null: insert as the first.
   * @throws {DriverError} internal, if the markup is not well-formed.
   */
  insertUnchanged(parent: XmlElement, markup: string, after: XmlElement | XmlOther | null): void {
    const own = this.#own(parent);
    open(own);
    this.#insertAt(own, placeAfter(own, after), markup);
  }

  #insertAt(parent: EditedElement, place: number, markup: string): void {
    const { source, root } = parseFragment(markup, parent);
    const { nodes, tail } = copyContent(source, root, parent);
    parent.nodes.splice(place, 0, ...nodes);
    prepend(parent, place + nodes.length, tail);
    this.#changed();
  }

  #changed(): void {
    this.#version += 1;
    this.#isTouched = true;
  }

  #parts(): readonly string[] {
    const parts: string[] = [this.#around[0]];
    addParts(this.#root, parts);
    parts.push(this.#around[1]);
    return parts;
  }

  /**
   * Checks that an element belongs to this text, and returns it.
   * @throws {RangeError} for an element of another text, and for a removed element.
   */
  #own(element: XmlElement): EditedElement {
    if (!(element instanceof EditedElement)) throw new RangeError(`editing <${element.name}>: it is from another text`);
    let top = element;
    while (top.parent !== null) top = top.parent;
    if (top !== this.#root) throw new RangeError(`editing <${element.name}>: it was removed, or is from another text`);
    return element;
  }
}

/** Detaches a removed node, so that later edits of it throw. */
function detach(node: EditedElement | EditedOther): void {
  if (node.kind === 'element') node.parent = null;
}

function parentOf(element: EditedElement): EditedElement {
  if (element.parent === null) throw new RangeError(`editing <${element.name}>: it is the root element`);
  return element.parent;
}

/** Adds text before the node at a place, or before the end tag. */
function prepend(parent: EditedElement, place: number, text: string): void {
  const next = parent.nodes[place];
  if (next === undefined) parent.tail = text + parent.tail;
  else next.before = text + next.before;
}

/**
 * Returns the place after a node.
 * @param after null: the first place; undefined: the last place.
 * @throws {RangeError} the node is not in the parent.
 */
function placeAfter(parent: EditedElement, after: XmlElement | XmlOther | null | undefined): number {
  if (after === undefined) return parent.nodes.length;
  if (after === null) return 0;
  const place = parent.nodes.findIndex((node) => node === after);
  if (place < 0) throw new RangeError(`editing <${parent.name}>: the preceding node is not in it`);
  return place + 1;
}

/** Gives `<a/>` an end tag. Returns false if the element already had an end tag. */
function open(element: EditedElement): boolean {
  if (element.endTag !== '') return false;
  element.tagEnd = `${element.tagEnd.slice(0, -'/>'.length)}>`;
  element.endTag = `</${element.name}>`;
  return true;
}

/** Returns the line break and the indentation before a node; `''` if the node is not the first on its line. */
function indentOf({ before }: EditedElement | EditedOther): string {
  return /\n[ \t]*$/.exec(before)?.[0] ?? '';
}

/**
 * Returns a line break and the indentation of a first child: two spaces more than its parent, as libvirt does. Returns
 * `''` if the parent is below the root and is not the first on its line.
 */
function childIndent(parent: EditedElement): string {
  const own = indentOf(parent);
  if (own !== '') return `${own}  `;
  return parent.parent === null ? '\n  ' : '';
}

function trailingSpace(text: string): string {
  return text.slice(text.trimEnd().length);
}
