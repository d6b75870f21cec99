/** A YAML document in which every value has its line. */
import { maskUrl } from '../text/mask-url.js';

/** The place of a value: for a member of a mapping the line of its key. */
interface Place {
  /** The file as the user named it. */
  readonly file: string;
  /** Line number from 1; 0 if there are no lines (command line). */
  readonly line: number;
}

/** A string, number, boolean or null. */
interface YamlScalar extends Place {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
  /** The text of a number in the file, such as `0x1f`, if `parseYaml` has the option `keepsNumberText`. */
  readonly source?: string;
  /**
   * The environment variable that the value comes from. Such a value may be a secret and is never
   * shown.
   */
  readonly variable?: string;
  /**
   * The environment variable is not set. This is already a fault, so the value needs no further
   * check.
   */
  readonly unresolved?: true;
}

/** A list. */
interface YamlSequence extends Place {
  readonly kind: 'sequence';
  readonly items: readonly YamlNode[];
}

/** A mapping of strings to values. */
export interface YamlMapping extends Place {
  readonly kind: 'mapping';
  readonly members: ReadonlyMap<string, YamlNode>;
}

/** Any value. */
export type YamlNode = YamlScalar | YamlSequence | YamlMapping;

/** Steps from the top of a document to a value: keys of mappings and indexes of lists. */
export type KeyPath = readonly (string | number)[];

/** Converts a node to a plain value: strings, numbers, booleans, null, arrays and objects. */
export function toPlain(node: YamlNode): unknown {
  switch (node.kind) {
    case 'scalar':
      return node.value;
    case 'sequence':
      return node.items.map(toPlain);
    case 'mapping':
      return Object.fromEntries([...node.members].map(([key, member]) => [key, toPlain(member)]));
  }
}

/** Returns the value at a path. If it is missing, returns the last existing value on the way. */
export function nodeAt(node: YamlNode, path: readonly PropertyKey[]): YamlNode {
  let current = node;
  for (const step of path) {
    const next =
      current.kind === 'mapping'
        ? current.members.get(String(step))
        : current.kind === 'sequence'
          ? current.items[Number(step)]
          : undefined;
    if (next === undefined) return current;
    current = next;
  }
  return current;
}

/** Formats a path, such as `model_list[2].litellm_params.api_base`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[\w-]+$/.test(String(step))) text += `${text === '' ? '' : '.'}${String(step)}`;
    else text += `[${JSON.stringify(String(step))}]`;
  }
  return text;
}

/** Longer strings are not repeated in messages. */
const SHOWN_CHARACTERS = 60;

/**
 * Describes a value for messages: `the number 5`, `a list`. Hides strings and numbers that are
 * secret, strings of more than 60 characters, and all values that come from the environment.
 */
export function describeNode(node: YamlNode, options: { readonly secret?: boolean } = {}): string {
  if (node.kind === 'sequence') return 'a list';
  if (node.kind === 'mapping') return 'a mapping';
  const { value, variable } = node;
  if (value === null) return 'nothing';
  if (variable !== undefined) return `the value of the environment variable ${variable}`;
  if (value === '') return 'an empty string';
  const hidden = options.secret === true;
  if (typeof value === 'number') return hidden ? 'a number' : `the number ${value}`;
  if (typeof value === 'boolean') return String(value);
  if (hidden || value.length > SHOWN_CHARACTERS) return 'a string';
  // A URL may contain a password, or a key in its query.
  return `the string ${JSON.stringify(value.includes('://') ? maskUrl(value) : value)}`;
}
