/**
 * Limits of a body's structure. Parsing and checking a body costs much more than reading it. So one
 * pass over the bytes first rejects bodies that no resource needs.
 */
import { RedfishError } from '../messages/errors.js';
import { withPointers, message, withDetail } from '../messages/messages.js';

/** Maximum depth of a body. The deepest accepted body (a metric report) has 4 levels. */
const MAX_DEPTH = 16;
/**
 * Maximum number of commas and opening brackets together, which is about the number of values. The
 * largest accepted body, 1,000 test values of metrics, has about 7,000.
 */
const MAX_VALUES = 10_000;
/** Maximum number of members of one object, or of items of one array. */
const MAX_MEMBERS = 1_000;
/**
 * Maximum number of bytes of a string, with its escapes. The longest accepted string is a PEM text
 * of 64 KiB with escaped line breaks.
 */
const MAX_STRING_LENGTH = 131_072;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Checks a JSON text before it is parsed. Text that is not JSON may pass; the parser rejects it.
 * @throws {RedfishError} 413 PayloadTooLarge, 400 StringValueTooLong or 400 ArraySizeTooLong, each
 *   with a JSON pointer.
 */
export function checkStructure(bytes: Buffer): void {
  // One number for each open container. In an object: the offset of the name of the current value;
  // 0 until the colon after a name. In an array: -1 - index.
  const places = new Int32Array(MAX_DEPTH + 1);
  const members = new Int32Array(MAX_DEPTH + 1);
  let depth = 0;
  let values = 0;
  let lastString = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    switch (byte) {
      case QUOTE: {
        lastString = at;
        at = endOfString(bytes, at);
        if (at - lastString - 1 > MAX_STRING_LENGTH) throw tooLongStringError(pointerTo(bytes, places, depth));
        break;
      }
      case COLON:
        places[depth] = lastString;
        break;
      case COMMA:
        places[depth] = nextPlace(places[depth] ?? 0);
        members[depth] = (members[depth] ?? 1) + 1;
        values += 1;
        break;
      case OPEN_ARRAY:
      case OPEN_OBJECT:
        if (depth === MAX_DEPTH) {
          throw limitError(`The body is nested deeper than ${MAX_DEPTH} levels.`, pointerTo(bytes, places, depth));
        }
        depth += 1;
        places[depth] = byte === OPEN_ARRAY ? -1 : 0;
        members[depth] = 1;
        values += 1;
        break;
      case CLOSE_ARRAY:
      case CLOSE_OBJECT:
        depth = Math.max(0, depth - 1);
    }
    if (values > MAX_VALUES) {
      throw limitError(`The body has more than ${MAX_VALUES} values.`, pointerTo(bytes, places, depth - 1));
    }
    if ((members[depth] ?? 0) > MAX_MEMBERS) {
      const pointer = pointerTo(bytes, places, depth - 1);
      throw (places[depth] ?? 0) < 0
        ? tooManyItemsError(pointer)
        : limitError(`The body has an object with more than ${MAX_MEMBERS} members.`, pointer);
    }
  }
}

function nextPlace(place: number): number {
  return place < 0 ? place - 1 : 0;
}

/** Returns the offset of the closing quote, or an offset past the end if it is missing. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
  return at;
}

function limitError(detail: string, pointer: string): RedfishError {
  return new RedfishError(413, [withPointers(withDetail(message('PayloadTooLarge'), detail), pointer)]);
}

function tooManyItemsError(pointer: string): RedfishError {
  const name = pointer.slice(pointer.lastIndexOf('/') + 1);
  return new RedfishError(400, [withPointers(message('ArraySizeTooLong', name, MAX_MEMBERS), pointer)]);
}

/** Returns an error without the string, which may be a private key. */
function tooLongStringError(pointer: string): RedfishError {
  return new RedfishError(400, [withPointers(message('StringValueTooLong', '…', MAX_STRING_LENGTH), pointer)]);
}

/** Returns the JSON pointer to the current value of the container at the given depth. */
function pointerTo(bytes: Buffer, places: Int32Array, depth: number): string {
  const parts = [...places.subarray(1, Math.max(1, depth + 1))]
    .filter((place) => place !== 0)
    .map((place) => (place < 0 ? String(-1 - place) : nameAt(bytes, place)));
  return `#${parts.map((part) => `/${part}`).join('')}`;
}

/** Maximum number of bytes of a name in a pointer. Clients choose the names, and people read the pointer. */
const MAX_NAME_LENGTH = 100;

/** Returns the name that starts at a quote, cut and escaped for a JSON pointer. Keeps its JSON escapes. */
function nameAt(bytes: Buffer, start: number): string {
  const end = Math.min(endOfString(bytes, start), start + 1 + MAX_NAME_LENGTH);
  return bytes
    .toString('utf8', start + 1, end)
    .replaceAll('~', '~0')
    .replaceAll('/', '~1');
}
