/** Encodes and decodes character data and attribute values of XML. */
import { DriverError } from '../../driver-error.js';

const NAMED_ENTITIES = new Map([
  ['lt', '<'],
  ['gt', '>'],
  ['amp', '&'],
  ['quot', '"'],
  ['apos', "'"],
]);

/**
 * Decodes character data or a raw attribute value.
 * @throws {DriverError} internal, for an entity that XML 1.0 does not define, a reference above U+10FFFF, or a
 *   missing semicolon.
 */
export function decodeText(raw: string): string {
  if (!raw.includes('&')) return raw;
  return raw.replace(/&([^;&]*)(;?)/g, (_whole, name: string, semicolon: string) => {
    const named = NAMED_ENTITIES.get(name);
    if (named !== undefined && semicolon !== '') return named;
    const reference = /^#(?:x([0-9a-fA-F]+)|([0-9]+))$/.exec(name);
    const [, hex, decimal] = reference ?? [];
    const code = hex === undefined ? Number.parseInt(decimal ?? '', 10) : Number.parseInt(hex, 16);
    if (semicolon === '' || Number.isNaN(code) || code > 0x10ffff) {
      // The error must not contain the text, because it may contain passwords.
      throw new DriverError('internal', 'reading domain xml: an unknown entity');
    }
    return String.fromCodePoint(code);
  });
}

/**
 * Decodes character data between tags, with the line ends that a parser reports (XML 1.0 §2.11).
 * @throws as {@link decodeText}.
 */
export function decodeCharacterData(raw: string): string {
  return decodeText(withLineFeeds(raw));
}

/**
 * Decodes a raw attribute value: each raw tab and each raw line end becomes a space (XML 1.0 §3.3.3).
 * @throws as {@link decodeText}.
 */
export function decodeAttribute(raw: string): string {
  return decodeText(raw.replace(/\r\n|[\t\r\n]/g, ' '));
}

/** Returns text with the line ends that a parser reports (XML 1.0 §2.11), for CDATA. */
export function withLineFeeds(raw: string): string {
  return raw.replace(/\r\n?/g, '\n');
}

/** Encodes text for use between tags. */
export function encodeText(text: string): string {
  // A parser would read a raw carriage return as a line feed (XML 1.0 §2.11).
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;').replace(/\r/g, '&#13;');
}

/** Encodes text for use between quotes of the given kind. The other kind of quote is not encoded. */
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
