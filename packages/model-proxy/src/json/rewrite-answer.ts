/**
 * Replaces the model's name in an answer, and adds missing fields that are nullable in OpenAI's
 * API. All other bytes are unchanged. Answers are not verified: in text that is not JSON, a name
 * that precedes the fault may be replaced.
 */
import { findLastMember } from './last-member.js';
import { arrayElements, findValue, nextKey, objectMembers, skipSpace, type Span } from './navigate.js';
import type { JsonEdit, JsonMember } from './object.js';
import { JsonObjectScanner } from './scanner.js';
import { memberEdits, spliceChunks } from './splice.js';
import { bytesBetween, memberNamed, textBetween } from './text.js';
import type { FoundMembers } from './verified-members.js';

/**
 * Nullable fields of the contract (among the rows MP-22 to MP-45). With `fill_null_fields`, the proxy adds them with
 * the value null if the upstream does not send them.
 */
export interface NullableMembers {
  readonly answer: readonly string[];
  readonly choice: readonly string[];
  readonly message: readonly string[];
  readonly usage: readonly string[];
}

/** The changes to an answer. */
export interface AnswerRewrite {
  /** Possible positions of the model's name, or of an id, in the order in which they are tried. */
  readonly modelPaths: readonly (readonly string[])[];
  /** Maps the upstream's name or id to that for the client; null leaves it unchanged. */
  readonly model: ((reported: string) => string) | null;
  /** Fields to add if they are missing; null adds none. */
  readonly nullable: NullableMembers | null;
}

/**
 * Answers up to this size are joined in one buffer. In longer answers, this many bytes of each end
 * are read first.
 */
const NEARBY_BYTES = 65_536;

/**
 * Rewrites one complete answer.
 *
 * A `model` that is missing or null stays so, because the upstream reported no name. In a long answer, the
 * function searches both ends for the name. It scans the whole text only if the end does not contain the name, and
 * the beginning does not contain it either, or contains one that may not be the last.
 * @param chunks as received. They are not changed; the result contains views of them.
 */
export function rewriteAnswer(chunks: readonly Buffer[], rewrite: AnswerRewrite): Buffer[] {
  let length = 0;
  for (const chunk of chunks) length += chunk.length;
  const [only] = chunks;
  // Adding fields needs every choice, so the text is joined whatever its size. Chat answers are
  // small.
  if (length <= NEARBY_BYTES || rewrite.nullable !== null) {
    const bytes = chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks, length);
    const renaming = findRenaming(bytes, rewrite);
    const edits = renaming === undefined ? [] : [editOf(renaming)];
    if (rewrite.nullable !== null) edits.push(...nullableEdits(bytes, rewrite.nullable));
    return spliceChunks([bytes], length, edits);
  }
  if (rewrite.model === null) return [...chunks];

  const place = findInLongText(chunks, length, rewrite.modelPaths);
  const renaming = place && renamingOf(textBetween(chunks, length, place.start, place.end), place, rewrite.model);
  return renaming === undefined ? [...chunks] : spliceChunks(chunks, length, [editOf(renaming)]);
}

/**
 * Rewrites a small answer as {@link rewriteAnswer}.
 * @param text the same bytes as latin1: parts of a text cost less than parts of a buffer.
 * @param found the members of the verified answer for `modelPaths`; null: the answer was not verified.
 * @returns the answer as latin1.
 */
export function rewriteText(
  bytes: Buffer,
  text: string,
  rewrite: AnswerRewrite,
  found: FoundMembers | null = null,
): string {
  if (rewrite.nullable !== null) return Buffer.concat(rewriteAnswer([bytes], rewrite)).toString('latin1');
  const renaming = findRenaming(bytes, rewrite, found);
  if (renaming === undefined) return text;
  const { start, end, json } = renaming;
  return text.slice(0, start) + utf8AsLatin1(json) + text.slice(end);
}

function utf8AsLatin1(text: string): string {
  return /[^ -~]/.test(text) ? Buffer.from(text).toString('latin1') : text;
}

/** The new name of the model. */
interface Renaming extends Span {
  /** The name in JSON. */
  readonly json: string;
}

/** Finds the name, and makes the new one. @returns undefined: the name is not a string, or it stays as it is. */
function findRenaming(
  bytes: Buffer,
  { model, modelPaths }: AnswerRewrite,
  found: FoundMembers | null = null,
): Renaming | undefined {
  if (model === null) return undefined;
  for (let index = 0; index < modelPaths.length; index += 1) {
    const path = modelPaths[index] ?? [];
    const place = found === null ? findValue(bytes, 0, bytes.length, path) : valueIn(bytes, found[index], path);
    const renaming = place && renamingOf(bytes.toString('utf8', place.start, place.end), place, model);
    if (renaming !== undefined) return renaming;
  }
  return undefined;
}

/** Finds the value at a path. @param first the value of its first member. */
function valueIn(bytes: Buffer, first: Span | undefined, path: readonly string[]): Span | undefined {
  return first === undefined || path.length === 1 ? first : findValue(bytes, first.start, first.end, path.slice(1));
}

/**
 * Makes the new name.
 * @param spelled the value's text.
 * @param place the place of the value in the answer.
 * @returns as {@link findRenaming}.
 */
function renamingOf(spelled: string, { start, end }: Span, model: (reported: string) => string): Renaming | undefined {
  const reported = parseText(spelled);
  if (reported === undefined) return undefined;
  const shown = model(reported);
  return shown === reported ? undefined : { start, end, json: JSON.stringify(shown) };
}

function editOf({ start, end, json }: Renaming): JsonEdit {
  return { start, end, replacement: Buffer.from(json) };
}

/** Parses a JSON string. @returns undefined if the text is not a JSON string. */
export function parseText(spelled: string): string | undefined {
  if (!spelled.startsWith('"')) return undefined;
  // Most names need no parser.
  if (/^"[\w./:@-]*"$/.test(spelled)) return spelled.slice(1, -1);
  try {
    return String(JSON.parse(spelled));
  } catch {
    // The text begins with a quote, but has a control character, an invalid escape, or no closing quote.
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
    // If a name occurs twice, the last member counts.
    if (!occursAfter(chunks, inHead.end, path[0] ?? '')) return inHead;
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

/**
 * Returns whether a name in quotes occurs after a position. Searching 10 MB of numbers takes a
 * millisecond.
 */
function occursAfter(chunks: readonly Buffer[], from: number, name: string): boolean {
  const overlap = name.length + 1;
  let start = 0;
  /** The last bytes of the previous chunk, where a match may begin. */
  let previousEnd: Buffer = Buffer.alloc(0);
  for (const chunk of chunks) {
    const first = Math.max(0, from - start);
    start += chunk.length;
    if (first >= chunk.length) continue;
    const seam = Buffer.concat([previousEnd, chunk.subarray(first, first + overlap)]);
    if (nextKey(seam, 0, seam.length, name) !== -1 || nextKey(chunk, first, chunk.length, name) !== -1) return true;
    previousEnd = chunk.length - first < overlap ? seam.subarray(-overlap) : chunk.subarray(-overlap);
  }
  return false;
}

/**
 * Finds the name by verifying the whole text: about 1 ns per byte.
 * @returns undefined if the text is not JSON, or does not have the name.
 */
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
    // The text is not JSON, so the answer is forwarded unchanged.
  }
  return undefined;
}

function nullableEdits(bytes: Buffer, nullable: NullableMembers): JsonEdit[] {
  const end = bytes.length;
  const start = skipSpace(bytes, 0, end);
  const answer = objectMembers(bytes, start, end);
  const choices = answer?.findLast(({ key }) => key === 'choices');
  const elements = choices && arrayElements(bytes, choices.valueStart, end);
  // An error with status 200, or an answer that is not a completion: its fields are not those of the contract.
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
