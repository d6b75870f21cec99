/**
 * Implements `additional_drop_params`: names of parameters, and paths into them
 * (`tools[*].input_examples`, `extra.flags[0].name`).
 */
import { prune } from '../json/prune.js';

/** A parsed entry of `additional_drop_params`. */
export interface DropPath {
  /** A top-level member of the request. */
  readonly parameter: string;
  /**
   * The path below the parameter: names, indexes, and {@link EVERY} for all elements. Empty: the
   * whole parameter.
   */
  readonly steps: readonly (string | number)[];
}

/** The step for all elements of an array. No name is empty. */
const EVERY = '';

/** Parses an entry. A text that is not a path is a name, with any characters. */
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

/** A node of the tree of paths. Paths share their beginnings, so each element is visited once. */
interface PathNode {
  readonly next: Map<string | number, PathNode>;
  /** Whether a path ends here, so that the value is dropped. */
  ends: boolean;
}

/**
 * Removes the values at the ends of the paths. Ignores paths that do not exist in the value.
 * @param value a complete, verified JSON value.
 * @returns the same buffer if nothing changed.
 */
export function dropPaths(value: Buffer, paths: readonly DropPath['steps'][]): Buffer {
  const root: PathNode = { next: new Map(), ends: false };
  for (const steps of paths) {
    let node = root;
    for (const step of steps) {
      let next = node.next.get(step);
      if (next === undefined) node.next.set(step, (next = { next: new Map(), ends: false }));
      node = next;
    }
    node.ends = true;
  }
  return prune<readonly PathNode[]>(value, [root], (nodes, key) => {
    const innerNodes: PathNode[] = [];
    for (const { next } of nodes) {
      const namedNode = next.get(key);
      const everyNode = typeof key === 'number' ? next.get(EVERY) : undefined;
      if (namedNode?.ends === true || everyNode?.ends === true) return 'remove';
      if (namedNode !== undefined) innerNodes.push(namedNode);
      if (everyNode !== undefined) innerNodes.push(everyNode);
    }
    return innerNodes.length === 0 ? 'keep' : { within: innerNodes };
  });
}
