/** Serializes large answers in pieces. */
import { createHash } from 'node:crypto';
import { tagOfDigest } from '../conditions.js';
import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import type { Selection } from './parse.js';
import { checkBytes } from './expand.js';
import { selectionBelow, selectWithin } from './select.js';

/** An answer's text in UTF-8, in pieces of about {@link pieceBytes}, and its entity tag. */
export interface Serialized {
  readonly pieces: readonly Buffer[];
  readonly bytes: number;
  readonly etag: string;
}

const pieceBytes = 64 * 1024;

/**
 * Serializes the selected parts of an object.
 * @param composite the objects and arrays that contain other resources. All others are small: one
 *   JSON.stringify serializes each.
 * @param pace lets other requests run between two steps.
 * @throws {RedfishError} 507 if the text is too large; errors of `pace.step`.
 */
export async function serialize(
  body: JsonObject,
  selection: Selection | undefined,
  composite: ReadonlySet<Json>,
  pace: { readonly step: () => Promise<void> },
): Promise<Serialized> {
  const hash = createHash('sha256');
  const pieces: Buffer[] = [];
  let bytes = 0;
  let text = '';
  const flush = (): void => {
    const piece = Buffer.from(text);
    hash.update(piece);
    pieces.push(piece);
    bytes += piece.length;
    text = '';
    checkBytes(bytes);
  };
  for (const part of parts(body, selection, composite)) {
    text += part;
    if (text.length >= pieceBytes) flush();
    await pace.step();
  }
  flush();
  return { pieces, bytes, etag: tagOfDigest(hash.digest('base64url')) };
}

function* parts(value: Json, selection: Selection | undefined, composite: ReadonlySet<Json>): Generator<string> {
  if (!composite.has(value)) {
    yield JSON.stringify(selection === undefined ? value : selectWithin(value, selection));
    return;
  }
  if (isArray(value)) {
    let separator = '[';
    for (const item of value) {
      yield separator;
      yield* parts(item, selection, composite);
      separator = ',';
    }
    yield value.length === 0 ? '[]' : ']';
    return;
  }
  if (isObject(value)) yield* members(value, selection, composite);
}

/**
 * Yields the text of an object that contains other resources. Serializes the members between two
 * composite members with one call.
 */
function* members(
  object: JsonObject,
  selection: Selection | undefined,
  composite: ReadonlySet<Json>,
): Generator<string> {
  let separator = '{';
  let small: Record<string, Json> = {};
  const flushSmall = function* (): Generator<string> {
    const text = JSON.stringify(small);
    small = {};
    if (text === '{}') return;
    yield `${separator}${text.slice(1, -1)}`;
    separator = ',';
  };
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const inner = selectionBelow(name, selection);
    if (inner === 'nothing') continue;
    if (!composite.has(value)) {
      small[name] = inner === undefined ? value : selectWithin(value, inner);
      continue;
    }
    yield* flushSmall();
    yield `${separator}${JSON.stringify(name)}:`;
    separator = ',';
    yield* parts(value, inner, composite);
  }
  yield* flushSmall();
  yield separator === '{' ? '{}' : '}';
}
