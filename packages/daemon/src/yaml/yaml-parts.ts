/**
 * Splits a YAML tree into small parts, and joins them. A thread sends a tree in parts, because the
 * receiver would need too long for a large tree in one message.
 */
import type { YamlNode } from './yaml-node.js';

/**
 * Nodes in depth-first order. Each node has four values: its kind, its line, its key in the mapping
 * around it (else null), and its value or its number of items or members.
 */
export type YamlPart = readonly (string | number | boolean | null)[];

const VALUES_OF_NODE = 4;
/** Number of nodes in a part. Reading a part of this size needs less than a millisecond. */
const NODES_OF_PART = 500;

/**
 * Returns the parts of a tree. The parts omit `source`, `variable` and `unresolved`, so the tree must
 * not contain values of environment variables yet.
 */
export function* yamlParts(root: YamlNode): Generator<YamlPart, undefined> {
  let part: (string | number | boolean | null)[] = [];
  function* add(node: YamlNode, key: string | null): Generator<YamlPart, undefined> {
    const { kind, line } = node;
    const content = kind === 'scalar' ? node.value : kind === 'sequence' ? node.items.length : node.members.size;
    part.push(kind, line, key, content);
    if (part.length >= NODES_OF_PART * VALUES_OF_NODE) {
      yield part;
      part = [];
    }
    if (kind === 'sequence') for (const item of node.items) yield* add(item, null);
    if (kind === 'mapping') for (const [name, member] of node.members) yield* add(member, name);
  }
  yield* add(root, null);
  if (part.length > 0) yield part;
}

/** A list or a mapping, some of whose content is still missing. */
interface Incomplete {
  readonly add: (node: YamlNode, key: string) => void;
  missing: number;
}

/** Builds a tree from its parts. */
export class YamlBuilder {
  readonly #file: string;
  readonly #incomplete: Incomplete[] = [];
  #root: YamlNode | undefined;

  /** @param file name of the file, for all nodes. */
  constructor(file: string) {
    this.#file = file;
  }

  /** Adds the next part. @returns the tree if this part was the last one. */
  add(part: YamlPart): YamlNode | undefined {
    for (let at = 0; at < part.length; at += VALUES_OF_NODE) {
      const [kind, line, key, content = null] = part.slice(at, at + VALUES_OF_NODE);
      const place = { file: this.#file, line: Number(line) };
      if (kind === 'sequence') {
        const items: YamlNode[] = [];
        this.#begin({ kind, ...place, items }, key, { add: (node) => void items.push(node), missing: Number(content) });
      } else if (kind === 'mapping') {
        const members = new Map<string, YamlNode>();
        const add = (node: YamlNode, name: string) => void members.set(name, node);
        this.#begin({ kind, ...place, members }, key, { add, missing: Number(content) });
      } else {
        this.#begin({ kind: 'scalar', ...place, value: content }, key, null);
      }
    }
    return this.#incomplete.length === 0 ? this.#root : undefined;
  }

  #begin(node: YamlNode, key: unknown, content: Incomplete | null): void {
    const around = this.#incomplete.at(-1);
    if (around === undefined) this.#root = node;
    else {
      around.add(node, String(key));
      around.missing -= 1;
    }
    if (content !== null) this.#incomplete.push(content);
    while (this.#incomplete.at(-1)?.missing === 0) this.#incomplete.pop();
  }
}
