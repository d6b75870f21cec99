/** What a virtual key may do. Made once for each state of a key, and then used by many requests. */
import type { StoredKey } from '../store/keys.js';
import { pathTest } from './gate.js';

/** A virtual key of a request. */
export interface VirtualKey {
  /** Its digest, which identifies it. */
  readonly digest: string;
  readonly stored: StoredKey;
  /** Whether the key may use only some models. */
  readonly isRestricted: boolean;
  /** Returns whether the key may use a public name of a model. */
  allowsModel(name: string): boolean;
  /** Returns the public name that a name of the client means: an alias of the key, or the name itself. */
  modelOf(name: string): string;
  /**
   * Returns whether the key may request a path.
   * @param path as `plainPath` returns it.
   * @param byDefault whether keys without allowed routes may request it.
   */
  allowsPath(path: string, byDefault: boolean): boolean;
}

/** LiteLLM's names for all models. */
const ALL_MODELS: ReadonlySet<string> = new Set(['*', 'all-proxy-models', 'all-team-models']);
/** LiteLLM's names of groups of routes. `management_routes` opens no path here: it would need the master key. */
const DEFAULT_ROUTES: ReadonlySet<string> = new Set(['llm_api_routes', 'openai_routes', 'info_routes']);
const NO_MODELS = 'no-default-models';

/** Makes the key of a request. */
export function virtualKeyOf(digest: string, stored: StoredKey): VirtualKey {
  const { models, aliases, allowedRoutes } = stored;
  const allowsModel = modelTest(models);
  const aliasNames = new Map(Object.entries(aliases));
  const isAllowedPath = pathTest(allowedRoutes.filter((route) => route.startsWith('/')));
  const allowsDefault = allowedRoutes.length === 0 || allowedRoutes.some((route) => DEFAULT_ROUTES.has(route));
  return {
    digest,
    stored,
    isRestricted: !allowsAll(models),
    // An alias of an allowed model is allowed.
    allowsModel: (name) => allowsModel(name) || allowsModel(aliasNames.get(name) ?? name),
    modelOf: (name) => aliasNames.get(name) ?? name,
    allowsPath: (path, byDefault) => (byDefault && allowsDefault) || isAllowedPath(path),
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
