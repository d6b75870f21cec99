/** Computes the permissions of a virtual key. `virtual-clients.ts` caches the result. */
import type { StoredKey } from '../store/keys.js';
import { pathTest, routePattern } from './gate.js';

/** A virtual key with its permissions. */
export interface VirtualKey {
  /** Its digest, which identifies it. */
  readonly digest: string;
  readonly stored: StoredKey;
  /** Whether the key may use only some models. */
  readonly isRestricted: boolean;
  /** Returns whether the key may use a name: a public name of a model, or an alias of the key. */
  allowsModel(name: string): boolean;
  /** Returns the public name that a name of the client means: an alias of the key, or the name itself. */
  modelOf(name: string): string;
  /** Returns whether the key may request all paths of a kind. */
  allowsKind(kind: RouteKind): boolean;
  /** Returns whether a path is among the allowed routes of the key. @param path as `plainPath` returns it. */
  allowsPath(path: string): boolean;
}

/** LiteLLM's names for all models. */
const ALL_MODELS: ReadonlySet<string> = new Set(['*', 'all-proxy-models', 'all-team-models']);
/**
 * Kinds of paths: requests to models, and information about models. A key with an empty list of allowed routes may
 * use both.
 */
export type RouteKind = 'model' | 'info';
/** LiteLLM's names of groups of routes, with the kinds of paths that they allow. */
const groupsOfRoutes: ReadonlyMap<string, readonly RouteKind[]> = new Map([
  ['llm_api_routes', ['model', 'info']],
  ['openai_routes', ['model', 'info']],
  ['info_routes', ['info']],
  // In this proxy, only the master key may manage keys. So this group gives a virtual key no path.
  ['management_routes', []],
]);
const ALL_KINDS: readonly RouteKind[] = ['model', 'info'];
const NO_MODELS = 'no-default-models';

/** Returns whether an entry of a key's allowed routes is valid: a path, or LiteLLM's name of a group of routes. */
export function isRoute(entry: string): boolean {
  return routePattern.test(entry) || groupsOfRoutes.has(entry);
}

/** Computes the permissions of a stored key. */
export function virtualKeyOf(digest: string, stored: StoredKey): VirtualKey {
  const { models, aliases, allowedRoutes } = stored;
  const allowsModel = modelTest(models);
  const aliasNames = new Map(Object.entries(aliases));
  const isAllowedPath = pathTest(allowedRoutes.filter((route) => route.startsWith('/')));
  const kinds =
    allowedRoutes.length === 0 ? ALL_KINDS : allowedRoutes.flatMap((route) => groupsOfRoutes.get(route) ?? []);
  const [allowsModels, allowsInfo] = [kinds.includes('model'), kinds.includes('info')];
  return {
    digest,
    stored,
    isRestricted: !allowsAll(models),
    // An alias of an allowed model is allowed.
    allowsModel: (name) => allowsModel(name) || allowsModel(aliasNames.get(name) ?? name),
    modelOf: (name) => aliasNames.get(name) ?? name,
    allowsKind: (kind) => (kind === 'model' ? allowsModels : allowsInfo),
    allowsPath: isAllowedPath,
  };
}

function allowsAll(models: readonly string[]): boolean {
  return models.length === 0 || models.some((name) => ALL_MODELS.has(name));
}

/** Makes a test of names: a star at the end of an entry stands for any text. */
function modelTest(models: readonly string[]): (name: string) => boolean {
  if (allowsAll(models)) return () => true;
  const exact = new Set(models.filter((name) => name !== NO_MODELS));
  const prefixes = models.filter((name) => name.endsWith('*')).map((name) => name.slice(0, -1));
  return (name) => exact.has(name) || prefixes.some((prefix) => name.startsWith(prefix));
}
