/** Finds what a path names, among URI templates that are compiled once. */
import type { Params } from './resource.js';

/** A path's template and what is there. */
export interface Route<Target> {
  /** `/redfish/v1/Systems/{systemId}`. */
  readonly template: string;
  readonly target: Target;
}

/** A route with the parameters of a path. */
export interface Match<Target> extends Route<Target> {
  /** Decoded. */
  readonly params: Params;
}

/** Finds what a path leads to. */
export interface Router<Target> {
  /**
   * @param path without its query; with or without a trailing slash, percent-encoded or not.
   * @param suits what the target has to be, if there are several: `Accounts/Members` is the place to create accounts, and an
   *   account with that name. If none suits, the first one is returned.
   */
  match(path: string, suits?: (target: Target) => boolean): Match<Target> | undefined;
}

interface Node<Target> {
  readonly literals: Map<string, Node<Target>>;
  wildcard: Node<Target> | undefined;
  leaf: { readonly route: Route<Target>; readonly names: readonly string[] } | undefined;
}

/**
 * Clients ask for the same few paths again and again; this many are remembered with their parameters. Beyond that they are
 * forgotten all at once, so that guessed paths can not fill the memory.
 */
const rememberedPaths = 4096;
/** Longer ones are nobody's habit, and a path may have 16 KiB: not even a known user's, for it is matched before the log-in. */
const longestRemembered = 256;

/** @throws {Error} if two routes have the same template: a fault in the list of resources. */
export function createRouter<Target>(routes: readonly Route<Target>[]): Router<Target> {
  const root = createNode<Target>();
  for (const route of routes) insert(root, route);

  const remembered = new Map<string, Match<Target>>();
  const remember = (path: string, found: Match<Target> | undefined): Match<Target> | undefined => {
    if (found === undefined || path.length > longestRemembered) return found;
    if (remembered.size >= rememberedPaths) remembered.clear();
    remembered.set(path, found);
    return found;
  };
  return {
    match(path, suits = () => true) {
      const first = remembered.get(path) ?? remember(path, search(root, path));
      if (first === undefined || suits(first.target)) return first;
      return search(root, path, suits) ?? first;
    },
  };
}

function createNode<Target>(): Node<Target> {
  return { literals: new Map(), wildcard: undefined, leaf: undefined };
}

function insert<Target>(root: Node<Target>, route: Route<Target>): void {
  const names: string[] = [];
  let node = root;
  for (const segment of segments(route.template)) {
    const name = /^\{(.+)\}$/.exec(segment)?.[1];
    if (name !== undefined) {
      names.push(name);
      node = node.wildcard ??= createNode();
      continue;
    }
    const next = node.literals.get(segment) ?? createNode<Target>();
    node.literals.set(segment, next);
    node = next;
  }
  if (node.leaf !== undefined)
    throw new Error(`declaring ${route.template}: ${node.leaf.route.template} is the same path`);
  node.leaf = { route, names };
}

/** One trailing slash is no segment. */
function segments(path: string): readonly string[] {
  const parts = path.split('/').slice(1);
  return parts.length > 1 && parts.at(-1) === '' ? parts.slice(0, -1) : parts;
}

function search<Target>(
  root: Node<Target>,
  path: string,
  suits: (target: Target) => boolean = () => true,
): Match<Target> | undefined {
  const parts: string[] = [];
  for (const segment of segments(path)) {
    const part = decode(segment);
    // An empty segment is nobody's id.
    if (part === undefined || part === '') return undefined;
    parts.push(part);
  }
  const found = descend(root, parts, suits);
  if (found === undefined) return undefined;
  const { leaf, values } = found;
  return { ...leaf.route, params: Object.fromEntries(leaf.names.map((name, index) => [name, values[index] ?? ''])) };
}

/** Segments are decoded one by one, so that an encoded slash stays inside of its segment. */
function decode(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    // `%zz` encodes nothing; there is no such path.
    return undefined;
  }
}

/** A literal segment wins over a parameter; if it leads nowhere, or to a target that does not suit, the parameter is tried. */
function descend<Target>(
  node: Node<Target>,
  parts: readonly string[],
  suits: (target: Target) => boolean,
  depth = 0,
  values: readonly string[] = [],
): { readonly leaf: NonNullable<Node<Target>['leaf']>; readonly values: readonly string[] } | undefined {
  const part = parts[depth];
  if (part === undefined) {
    return node.leaf === undefined || !suits(node.leaf.route.target) ? undefined : { leaf: node.leaf, values };
  }
  const literal = node.literals.get(part);
  const found = literal && descend(literal, parts, suits, depth + 1, values);
  if (found !== undefined || node.wildcard === undefined) return found;
  return descend(node.wildcard, parts, suits, depth + 1, [...values, part]);
}
