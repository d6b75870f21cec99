/** Matches paths against URI templates, which are compiled once. */
import type { Params } from './resource.js';

/** A template and its target. */
interface Route<Target> {
  /** The path with parameters, such as `/redfish/v1/Systems/{systemId}`. */
  readonly template: string;
  readonly target: Target;
}

/** A route with the parameters of a path. */
export interface Match<Target> extends Route<Target> {
  /** Decoded values. */
  readonly params: Params;
}

/** Finds the route of a path. */
interface Router<Target> {
  /**
   * Returns the route of a path; undefined if there is none.
   * @param path without its query; with or without a trailing slash, percent-encoded or not.
   * @param suits selects among several targets of one path. For example, `Accounts/Members` is the
   *   URI for new accounts, and also that of an account named Members. If no target suits, returns
   *   the first route.
   */
  match(path: string, suits?: (target: Target) => boolean): Match<Target> | undefined;
}

interface Node<Target> {
  readonly literals: Map<string, Node<Target>>;
  wildcard: Node<Target> | undefined;
  leaf: { readonly route: Route<Target>; readonly names: readonly string[] } | undefined;
}

/**
 * Maximum number of paths in the cache. Clients repeat a few paths. A full cache is cleared, so
 * that guessed paths cannot fill the memory.
 */
const cachedPaths = 4096;
/**
 * Longer paths are not cached. A path may have 16 KiB, and any client may send it, because routes
 * are matched before the login.
 */
const maxCachedPathLength = 256;

/**
 * Creates a router.
 * @throws {Error} if two templates match the same paths, which is a bug in the list of resources.
 * @see RFC 3986 §3.3
 */
export function createRouter<Target>(routes: readonly Route<Target>[]): Router<Target> {
  const root = createNode<Target>();
  for (const route of routes) insert(root, route);

  const cache = new Map<string, Match<Target>>();
  const remember = (path: string, match: Match<Target> | undefined): Match<Target> | undefined => {
    if (match === undefined || path.length > maxCachedPathLength) return match;
    if (cache.size >= cachedPaths) cache.clear();
    cache.set(path, match);
    return match;
  };
  return {
    match(path, suits = () => true) {
      const anyMatch = cache.get(path) ?? remember(path, search(root, path));
      if (anyMatch === undefined || suits(anyMatch.target)) return anyMatch;
      return search(root, path, suits) ?? anyMatch;
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
    const child = node.literals.get(segment) ?? createNode<Target>();
    node.literals.set(segment, child);
    node = child;
  }
  if (node.leaf !== undefined)
    throw new Error(`declaring ${route.template}: ${node.leaf.route.template} is the same path`);
  node.leaf = { route, names };
}

/** Splits a path into segments. A trailing slash adds no segment. */
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
    // An empty segment matches no parameter, because no id is empty.
    if (part === undefined || part === '') return undefined;
    parts.push(part);
  }
  const matchedLeaf = descend(root, parts, suits);
  if (matchedLeaf === undefined) return undefined;
  const { leaf, values } = matchedLeaf;
  return { ...leaf.route, params: Object.fromEntries(leaf.names.map((name, index) => [name, values[index] ?? ''])) };
}

/** Decodes one segment; undefined if its encoding is invalid. An encoded slash stays inside its segment. */
function decode(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  try {
    return decodeURIComponent(segment);
  } catch {
    // `%zz` is not a valid encoding, so no resource has this path.
    return undefined;
  }
}

/**
 * Prefers a literal segment to a parameter. Tries the parameter if the literal leads to no target
 * that suits.
 */
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
  const matchedLeaf = literal && descend(literal, parts, suits, depth + 1, values);
  if (matchedLeaf !== undefined || node.wildcard === undefined) return matchedLeaf;
  return descend(node.wildcard, parts, suits, depth + 1, [...values, part]);
}
