/** Finds a configuration's blocks, by LiteLLM's names, by the same without prefix, and by what is in them. */
import type { Findings } from './faults.js';
import type { KeyPath, YamlMapping, YamlNode } from './yaml-node.js';

export interface FoundBlock {
  readonly node: YamlMapping;
  readonly path: KeyPath;
}

export interface BlockSearch {
  /** Canonical first. */
  readonly names: readonly [canonical: string, ...others: string[]];
  /** What tells the block by its contents; undefined: only its name does. */
  readonly looksLike?: (node: YamlMapping) => boolean;
  /** Whether a name means something else and is not to be taken for this block. */
  readonly isTaken?: (name: string) => boolean;
}

/** Finds one block among the members of a mapping. @returns undefined: it is not there, or there is a fault. */
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
    findings.fault(node, [...path, key], `and ${another[0]} could both be ${canonical}: call the right one so`);
    return undefined;
  }
  findings.warn(node, [...path, key], `is taken as ${canonical}, which is its name`);
  return { node, path: [...path, key] };
}

/** Whether a mapping has all the keys, none of them empty. */
export const holds = (node: YamlMapping, ...keys: readonly string[]) =>
  keys.every((key) => isSet(node.members.get(key)));

function isSet(node: YamlNode | undefined): boolean {
  return node !== undefined && !(node.kind === 'scalar' && node.value === null);
}

/** Members of several mappings as those of one; where two have the same key, the earlier mapping's holds. */
export function mergeBlocks(blocks: readonly FoundBlock[]): FoundBlock | undefined {
  const [first] = blocks;
  if (first === undefined) return undefined;
  const members = new Map<string, YamlNode>();
  for (const { node } of blocks)
    for (const [key, member] of node.members) if (!members.has(key)) members.set(key, member);
  return { node: { ...first.node, members }, path: first.path };
}
