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
 * @param composite the objects and arrays that contain other resources. All others are small and
 *   are serialized at once.
 * @param work lets other work run between two steps. An error that it throws ends the work.
 * @throws {RedfishError} 507 if the text is too large.
 */
export async function serialize(
  body: JsonObject,
  selection: Selection | undefined,
  composite: ReadonlySet<Json>,
  work: { readonly step: () => Promise<void> },
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
    await work.step();
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
    let before = '[';
    for (const item of value) {
      yield before;
      yield* parts(item, selection, composite);
      before = ',';
    }
    yield value.length === 0 ? '[]' : ']';
    return;
  }
  if (isObject(value)) yield* members(value, selection, composite);
}

/** Serializes an object. Writes all small members with one call. */
function* members(
  object: JsonObject,
  selection: Selection | undefined,
  composite: ReadonlySet<Json>,
): Generator<string> {
  let before = '{';
  let small: Record<string, Json> = {};
  const written = function* (): Generator<string> {
    const text = JSON.stringify(small);
    small = {};
    if (text === '{}') return;
    yield `${before}${text.slice(1, -1)}`;
    before = ',';
  };
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const below = selectionBelow(name, selection);
    if (below === 'nothing') continue;
    if (!composite.has(value)) {
      small[name] = below === undefined ? value : selectWithin(value, below);
      continue;
    }
    yield* written();
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    yield* parts(value, below, composite);
  }
  yield* written();
  yield before === '{' ? '{}' : '}';
}
