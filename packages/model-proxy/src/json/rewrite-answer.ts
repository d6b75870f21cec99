/**
 * Puts another name for the model into an answer, and the specification's nullable fields where it lacks them; every other byte
 * stays what it is. Answers are not verified: what is no JSON comes back as it came.
 */
import { findLastMember } from './last-member.js';
import { arrayElements, findValue, nextKey, objectMembers, skipSpace, type Span } from './navigate.js';
import type { JsonEdit, JsonMember } from './object.js';
import { JsonObjectScanner } from './scanner.js';
import { memberEdits, spliceChunks } from './splice.js';
import { bytesBetween, memberNamed } from './text.js';

/** Members that the specification always has, null where the upstream does not know them. */
export interface NullableMembers {
  readonly answer: readonly string[];
  readonly choice: readonly string[];
  readonly message: readonly string[];
  readonly usage: readonly string[];
}

export interface AnswerRewrite {
  /** Where the model's name may stand; the first path that leads to a text. */
  readonly modelPaths: readonly (readonly string[])[];
  /** Gives the name to tell; null: it stays. */
  readonly model: ((reported: string) => string) | null;
  /** Filled where missing; null: nothing is. */
  readonly nullable: NullableMembers | null;
}

/** Answers up to this size are one buffer; of longer ones this much of either end is looked at first. */
const NEARBY_BYTES = 65_536;

/**
 * Rewrites one whole answer.
 *
 * A `model` that is missing or null stays so: there is nothing that the upstream reported. Of an answer of ten megabytes both ends
 * are looked at, and only if the name stands in neither is the rest read.
 * @param chunks as received; not changed, and views of them are returned.
 */
export function rewriteAnswer(chunks: readonly Buffer[], rewrite: AnswerRewrite): Buffer[] {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  const [only] = chunks;
  // Filling reaches into every choice: the text has to be in one piece, whatever its size. Chat answers are small.
  if (length <= NEARBY_BYTES || rewrite.nullable !== null) {
    const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length);
    const edits = modelEdits(bytes, rewrite);
    if (rewrite.nullable !== null) edits.push(...nullableEdits(bytes, rewrite.nullable));
    return spliceChunks([bytes], length, edits);
  }
  if (rewrite.model === null) return [...chunks];

  const place = findInLongText(chunks, length, rewrite.modelPaths);
  const edit = place && nameEdit(bytesBetween(chunks, length, place.start, place.end), place.start, rewrite.model);
  return edit === undefined ? [...chunks] : spliceChunks(chunks, length, [edit]);
}

function modelEdits(bytes: Buffer, { model, modelPaths }: AnswerRewrite): JsonEdit[] {
  if (model === null) return [];
  for (const path of modelPaths) {
    const place = findValue(bytes, 0, bytes.length, path);
    const edit = place && nameEdit(bytes.subarray(place.start, place.end), place.start, model);
    if (edit !== undefined) return [edit];
  }
  return [];
}

/** @param spelled the value's bytes. @returns undefined: it is no text, or stays as it is. */
function nameEdit(spelled: Buffer, start: number, model: (reported: string) => string): JsonEdit | undefined {
  const reported = parseText(spelled);
  if (reported === undefined) return undefined;
  const told = model(reported);
  if (told === reported) return undefined;
  return { start, end: start + spelled.length, replacement: Buffer.from(JSON.stringify(told)) };
}

/** A JSON string's value; undefined: it is none. */
export function parseText(spelled: Buffer): string | undefined {
  if (spelled[0] !== 0x22) return undefined;
  try {
    return String(JSON.parse(spelled.toString()));
  } catch {
    // Between quotes, but with control characters or escapes that JSON does not have.
    return undefined;
  }
}

function findInLongText(
  chunks: readonly Buffer[],
  length: number,
  paths: readonly (readonly string[])[],
): Span | undefined {
  const head = bytesBetween(chunks, length, 0, NEARBY_BYTES);
  if (head[skipSpace(head, 0, head.length)] !== 0x7b) return undefined;
  let inHead: Span | undefined;
  for (const path of paths) {
    inHead = findValue(head, 0, head.length, path);
    if (inHead === undefined) continue;
    // Of two members of a name the last counts.
    if (!occursBehind(chunks, inHead.end, path[0] ?? '')) return inHead;
    break;
  }
  const tailStart = length - NEARBY_BYTES;
  const tail = bytesBetween(chunks, length, tailStart, length);
  for (const [name, more] of paths) {
    const place = name === undefined || more !== undefined ? undefined : findLastMember(tail, name);
    if (place !== undefined) return { start: tailStart + place.start, end: tailStart + place.end };
  }
  return findByScanning(chunks, length, paths) ?? inHead;
}

/** Whether a name stands in quotes anywhere behind a place. It takes memchr's time: a millisecond for ten megabytes of numbers. */
function occursBehind(chunks: readonly Buffer[], from: number, name: string): boolean {
  const overlap = name.length + 1;
  let start = 0;
  let end: Buffer = Buffer.alloc(0);
  for (const chunk of chunks) {
    const first = Math.max(0, from - start);
    start += chunk.length;
    if (first >= chunk.length) continue;
    const seam = Buffer.concat([end, chunk.subarray(first, first + overlap)]);
    if (nextKey(seam, 0, seam.length, name) !== -1 || nextKey(chunk, first, chunk.length, name) !== -1) return true;
    end = chunk.length - first < overlap ? seam.subarray(-overlap) : chunk.subarray(-overlap);
  }
  return false;
}

/** Reads all of it: about a nanosecond a byte. */
function findByScanning(
  chunks: readonly Buffer[],
  length: number,
  paths: readonly (readonly string[])[],
): Span | undefined {
  const scanner = new JsonObjectScanner();
  try {
    for (const chunk of chunks) scanner.push(chunk);
    const object = scanner.finish();
    for (const [name, ...rest] of paths) {
      const member = name === undefined ? undefined : memberNamed(object, name);
      if (member === undefined) continue;
      const { valueStart: start, valueEnd: end } = member;
      if (rest.length === 0) return { start, end };
      const value = bytesBetween(chunks, length, start, end);
      const place = findValue(value, 0, value.length, rest);
      if (place !== undefined) return { start: start + place.start, end: start + place.end };
    }
  } catch {
    // No JSON, so no name to be told: it is passed on as it is.
  }
  return undefined;
}

function nullableEdits(bytes: Buffer, nullable: NullableMembers): JsonEdit[] {
  const end = bytes.length;
  const start = skipSpace(bytes, 0, end);
  const answer = objectMembers(bytes, start, end);
  const choices = answer?.findLast(({ key }) => key === 'choices');
  const elements = choices && arrayElements(bytes, choices.valueStart, end);
  // An error with status 200, or something that is no completion at all.
  if (answer === undefined || elements === undefined) return [];

  const edits: JsonEdit[] = [];
  const fill = (members: readonly JsonMember[] | undefined, at: number, names: readonly string[]): void => {
    if (members === undefined) return;
    const missing = names.filter((name) => !members.some(({ key }) => key === name));
    const added = missing.map((name) => [name, 'null'] as const);
    edits.push(...memberEdits({ members, start: at }, { added }));
  };
  for (const element of elements) {
    const choice = objectMembers(bytes, element.start, end);
    fill(choice, element.start, nullable.choice);
    const message = choice?.findLast(({ key }) => key === 'message');
    if (message === undefined || nullable.message.length === 0) continue;
    fill(objectMembers(bytes, message.valueStart, end), message.valueStart, nullable.message);
  }
  const usage = answer.findLast(({ key }) => key === 'usage');
  if (usage !== undefined) fill(objectMembers(bytes, usage.valueStart, end), usage.valueStart, nullable.usage);
  fill(answer, start, nullable.answer);
  return edits;
}
