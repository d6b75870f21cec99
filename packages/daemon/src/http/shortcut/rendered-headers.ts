/** Renders headers of responses as text for the shortcut (shortcut.ts), and checks them as Node does. */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { ownText } from '../../text/own-text.js';

/** The kind of a header. All kinds except `other` decide which headers `renderHead` adds. */
type Kind = 'other' | 'length' | 'connection' | 'date';

interface Name {
  /** The name with its colon and a space. */
  readonly prefix: string;
  readonly kind: Kind;
}

/**
 * The names that were used before. Number and length are limited, because upstreams may send any name.
 * The map stores copies: a name that is a part of an upstream's head would keep the whole head in memory.
 */
const names = new Map<string, Name>();
const MAX_NAMES = 1000;
/** Maximum length of a cached name, in characters. Usual names are shorter, but any peer may send longer ones. */
export const MAX_CACHED_LENGTH = 40;
/** Matches a character that the value of a header cannot have (RFC 9110 §5.5). */
const INVALID_VALUE = /[^\t\x20-\x7e\x80-\xff]/;

/** Headers that many responses share. They are checked and rendered once. */
export class HeaderBlock {
  /** Name, value, name, value. */
  readonly list: readonly string[];
  readonly text: string;

  /**
   * @param list as {@link HeaderBlock.list}, without headers about the body, the connection and the date.
   * @throws {Error} as {@link RenderedHeaders.add}; also for a header that a block cannot have.
   */
  constructor(list: readonly string[]) {
    const rendered = new RenderedHeaders();
    rendered.addList(list);
    if (rendered.hasLength || rendered.hasDate || rendered.connection !== null)
      throw new Error('a block of headers has a header about one response');
    this.list = list;
    // A flat copy: V8 would otherwise store the parts, and join them again for each response.
    this.text = ownText(rendered.text);
  }
}

/** The rendered headers of a response, in the order in which they were added. */
export class RenderedHeaders {
  /** The lines of the headers, each with its CRLF, as latin1. */
  text = '';
  hasLength = false;
  hasDate = false;
  /** The value of `Connection`; null: there is none. */
  connection: string | null = null;

  /** Size of the headers in bytes. */
  get byteLength(): number {
    return this.text.length;
  }

  /**
   * Adds a header.
   * @throws {Error} as Node, if the name or the value is not valid; also for headers that the shortcut cannot send.
   */
  add(name: string, value: string): void {
    const { prefix, kind } = names.get(name) ?? findName(name);
    if (INVALID_VALUE.test(value)) validateHeaderValue(name, value);
    this.text += `${prefix}${value}\r\n`;
    if (kind === 'other') return;
    if (kind === 'length') this.hasLength = true;
    else if (kind === 'date') this.hasDate = true;
    else this.connection = value;
  }

  /** Adds the headers of a block. */
  addBlock({ text }: HeaderBlock): void {
    this.text += text;
  }

  /** Adds headers. @param list name, value, name, value. @throws {Error} as {@link add}, or an element is not a text. */
  addList(list: readonly unknown[]): void {
    for (let index = 0; index + 1 < list.length; index += 2) {
      const name = list[index];
      const value = list[index + 1];
      if (typeof name !== 'string' || typeof value !== 'string')
        throw new TypeError('the shortcut needs names and values of headers as texts');
      this.add(name, value);
    }
  }
}

/** @throws {Error} the name is not valid, or the shortcut cannot send the header. */
function findName(name: string): Name {
  validateHeaderName(name);
  const found = { prefix: ownText(`${name}: `), kind: kindOf(name.toLowerCase()) };
  if (name.length <= MAX_CACHED_LENGTH && names.size < MAX_NAMES) names.set(ownText(name), found);
  return found;
}

function kindOf(lowerName: string): Kind {
  switch (lowerName) {
    case 'content-length':
      return 'length';
    case 'connection':
    case 'date':
      return lowerName;
    case 'keep-alive':
    case 'trailer':
    case 'transfer-encoding':
    case 'upgrade':
      throw new Error(`the shortcut cannot send the header ${lowerName}`);
    default:
      return 'other';
  }
}
