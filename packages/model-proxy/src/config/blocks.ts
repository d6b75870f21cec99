/** Finds a configuration's blocks: by LiteLLM's name, by the short name, or by their content. */
import type { Findings } from './faults.js';
import type { KeyPath, YamlMapping, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

/** A block and its place. */
export interface FoundBlock {
  readonly node: YamlMapping;
  readonly path: KeyPath;
}

/** Names and content by which a block is found. */
interface BlockSearch {
  /** Accepted names; the canonical name is first. */
  readonly names: readonly [canonical: string, ...others: string[]];
  /** Recognizes the block by its content; undefined: only the name identifies the block. */
  readonly looksLike?: (node: YamlMapping) => boolean;
  /** Returns whether a name has another meaning, so that its value cannot be this block. */
  readonly isTaken?: (name: string) => boolean;
}

/**
 * Finds a block among the members of a mapping. Warns if only the content identifies the block.
 * @returns undefined: there is no block that can be used. The fault is in `findings`, unless the block is missing.
 */
export function findBlock(
  parent: YamlMapping,
  path: KeyPath,
  search: BlockSearch,
  findings: Findings,
): FoundBlock | undefined {
  const { names, looksLike, isTaken } = search;
  const [canonical] = names;
  const named = names.flatMap((name) => {
    const node = parent.members.get(name);
    return node === undefined || (node.kind === 'scalar' && node.value === null) ? [] : [{ name, node }];
  });
  const [first, second] = named;
  if (first !== undefined) {
    if (second !== undefined)
      findings.fault(
        second.node,
        [...path, second.name],
        `is the same block as ${first.name} on line ${first.node.line}: keep one`,
      );
    if (first.node.kind === 'mapping') return { node: first.node, path: [...path, first.name] };
    findings.fault(first.node, [...path, first.name], 'must be a mapping');
    return undefined;
  }
  if (looksLike === undefined) return undefined;
  const candidates = [...parent.members].filter(
    (member): member is [string, YamlMapping] =>
      isTaken?.(member[0]) !== true && member[1].kind === 'mapping' && looksLike(member[1]),
  );
  const [candidate, another] = candidates;
  if (candidate === undefined) return undefined;
  const [key, node] = candidate;
  if (another !== undefined) {
    findings.fault(
      node,
      [...path, key],
      `could be ${canonical}, and so could ${another[0]}: rename the right block to ${canonical}`,
    );
    return undefined;
  }
  findings.warn(node, [...path, key], `is used as ${canonical}: rename it to ${canonical}`);
  return { node, path: [...path, key] };
}

/** Returns whether a mapping has values for all these keys. */
export const hasValues = (node: YamlMapping, ...keys: readonly string[]) =>
  keys.every((key) => isSet(node.members.get(key)));

function isSet(node: YamlNode | undefined): boolean {
  return node !== undefined && !(node.kind === 'scalar' && node.value === null);
}

/**
 * Merges the members of several mappings. If two have the same key, the earlier mapping has
 * precedence. The result has the path of the first mapping.
 * @returns undefined: there is no mapping.
 */
export function mergeBlocks(blocks: readonly FoundBlock[]): FoundBlock | undefined {
  const [first] = blocks;
  if (first === undefined) return undefined;
  const members = new Map<string, YamlNode>();
  for (const { node } of blocks)
    for (const [key, member] of node.members) if (!members.has(key)) members.set(key, member);
  return { node: { ...first.node, members }, path: first.path };
}
