/** `additional_drop_params`: names of parameters, and paths into them (`tools[*].input_examples`, `extra.flags[0].name`). */
import { arrayElements, objectMembers } from '../json/navigate.js';
import type { JsonEdit, JsonMember } from '../json/object.js';
import { memberEdits, spliceChunks } from '../json/splice.js';

/** What lies below a parameter. */
export interface DropPath {
  /** The parameter: a member of the request itself. */
  readonly parameter: string;
  /** Empty: the parameter as a whole. An element's number is a number, every element is an empty text: no name is. */
  readonly steps: readonly (string | number)[];
}

/** Every element of an array, among the steps of a path. */
const EVERY = '';

/** Reads one entry. What is no path is a name, whatever characters it has. */
export function parseDropPath(text: string): DropPath {
  const match = /^([^.[\]]+)((?:\.[^.[\]]+|\[(?:\*|\d+)\])*)$/.exec(text);
  if (match === null) return { parameter: text, steps: [] };
  const [, parameter = text, rest = ''] = match;
  const steps = Array.from(rest.matchAll(/\.([^.[\]]+)|\[(\*|\d+)\]/g), ([, name, index]) => {
    if (name !== undefined) return name;
    return index === '*' ? EVERY : Number(index);
  });
  return { parameter, steps };
}

/**
 * A value without what lies at the ends of the paths; where a path leads nowhere nothing happens.
 * @param value one whole JSON value.
 * @returns the same buffer if nothing was there to be dropped.
 */
export function dropPaths(value: Buffer, paths: readonly DropPath['steps'][]): Buffer {
  let bytes = value;
  for (const steps of paths) {
    const edits: JsonEdit[] = [];
    collect(bytes, 0, steps, edits);
    if (edits.length > 0) bytes = Buffer.concat(spliceChunks([bytes], bytes.length, edits));
  }
  return bytes;
}

function collect(bytes: Buffer, at: number, steps: DropPath['steps'], edits: JsonEdit[]): void {
  const [step, ...rest] = steps;
  if (step === undefined) return;
  const entries = entriesAt(bytes, at);
  if (entries === undefined) return;
  const chosen = entries.members.filter((entry, index) => {
    if (entries.isArray) return step === EVERY || step === index;
    return step === entry.key;
  });
  if (rest.length === 0) {
    edits.push(...memberEdits({ members: entries.members, start: at }, { removed: new Set(chosen) }));
    return;
  }
  for (const entry of chosen) collect(bytes, entry.valueStart, rest, edits);
}

interface Entries {
  readonly isArray: boolean;
  readonly members: readonly JsonMember[];
}

/** An array's elements are members without names: what removes the one with its comma removes the other. */
function entriesAt(bytes: Buffer, at: number): Entries | undefined {
  const members = objectMembers(bytes, at, bytes.length);
  if (members !== undefined) return { isArray: false, members };
  const elements = arrayElements(bytes, at, bytes.length)?.map(({ start, end }) => ({
    key: '',
    escaped: false,
    keyStart: start,
    valueStart: start,
    valueEnd: end,
  }));
  return elements && { isArray: true, members: elements };
}
