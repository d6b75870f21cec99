/** A YAML document that still knows where each of its values stands. */
import { maskUrl } from '@rackless/daemon/mask-url.js';

/** Where a value stands: for a mapping's member the line of its key, for a list's item its own. */
interface Place {
  /** As the file was named by whoever asked for it. */
  readonly file: string;
  /** From 1; 0: there are no lines there (the command line). */
  readonly line: number;
}

export interface YamlScalar extends Place {
  readonly kind: 'scalar';
  readonly value: string | number | boolean | null;
  /** The environment variable that the text came from: such a value is never shown, it may be a secret. */
  readonly variable?: string;
  /** The variable is not set, which is a fault already: nothing is to be said of the value. */
  readonly unresolved?: true;
}

export interface YamlSequence extends Place {
  readonly kind: 'sequence';
  readonly items: readonly YamlNode[];
}

export interface YamlMapping extends Place {
  readonly kind: 'mapping';
  readonly members: ReadonlyMap<string, YamlNode>;
}

export type YamlNode = YamlScalar | YamlSequence | YamlMapping;

/** Steps from a document's top to a value in it: keys of mappings and indexes of lists. */
export type KeyPath = readonly (string | number)[];

/** What `JSON.parse` would have given. */
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

/** The value at the end of the path, or the last one on the way to it where there is none. */
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

/** `model_list[2].litellm_params.api_base`. */
export function formatPath(path: readonly PropertyKey[]): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (/^[\w-]+$/.test(String(step))) text += `${text === '' ? '' : '.'}${String(step)}`;
    else text += `[${JSON.stringify(String(step))}]`;
  }
  return text;
}

/** Longer texts are not repeated in messages. */
const SHOWN_CHARACTERS = 60;

/**
 * What a value is, for messages: `the number 5`, `a list`. Not the value itself where it is secret or came from the environment.
 */
export function describeNode(node: YamlNode, options: { readonly secret?: boolean } = {}): string {
  if (node.kind === 'sequence') return 'a list';
  if (node.kind === 'mapping') return 'a mapping';
  const { value, variable } = node;
  if (value === null) return 'nothing';
  if (variable !== undefined) return `what the environment variable ${variable} holds`;
  if (value === '') return 'an empty string';
  const hidden = options.secret === true;
  if (typeof value === 'number') return hidden ? 'a number' : `the number ${value}`;
  if (typeof value === 'boolean') return String(value);
  if (hidden || value.length > SHOWN_CHARACTERS) return 'a string';
  // A URL may hold a password, or a key in its query.
  return `the string ${JSON.stringify(value.includes('://') ? maskUrl(value) : value)}`;
}
