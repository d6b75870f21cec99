/**
 * Reads the lists of parameters from `parameters.json`, which names its sources: parameters that
 * are checked, that each provider supports or renames, and that only the proxy reads.
 * @see https://docs.litellm.ai/docs/completion/drop_params
 */
import { readFileSync } from 'node:fs';

/** The content of the file. `...name` in a list includes another list. */
interface ParameterLists {
  readonly checked: Readonly<Record<string, readonly string[]>>;
  readonly neverRejected: readonly string[];
  readonly neverRejectedWhenOne: readonly string[];
  readonly openaiModels: { readonly patterns: readonly string[] };
  readonly supported: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  readonly renamed: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly consumed: Readonly<Record<string, readonly string[]>>;
}

// The file is part of the package, and a test checks its shape.
const lists = JSON.parse(readFileSync(new URL('./parameters.json', import.meta.url), 'utf8')) as ParameterLists;

/** The parameters of an endpoint whose parameters are not checked: none. */
export const unchecked: ReadonlySet<string> = new Set();

/**
 * Returns the OpenAI parameters that are checked at an endpoint. Other parameters are forwarded.
 * @param endpoint path, such as `chat/completions`. Without a list, nothing is checked.
 */
export function checkedParameters(endpoint: string): ReadonlySet<string> {
  return checked.get(endpoint) ?? unchecked;
}

const checked = new Map(Object.entries(lists.checked).map(([endpoint, names]) => [endpoint, new Set(names)]));

/** Paths of the endpoints that have a list. */
export const checkedEndpoints: readonly string[] = Object.keys(lists.checked);

/** OpenAI parameters of all endpoints that have a list. */
export const openaiParameters: ReadonlySet<string> = new Set(Object.values(lists.checked).flat());

/** Parameters that are silently dropped if the provider does not support them. */
export const neverRejected: ReadonlySet<string> = new Set(lists.neverRejected);

/**
 * Parameters that are silently dropped if the provider does not support them and their value is 1,
 * which some clients send by default.
 */
export const neverRejectedWhenOne: ReadonlySet<string> = new Set(lists.neverRejectedWhenOne);

/**
 * Returns whether OpenAI serves a model of that name. Such a model gets the parameters that OpenAI
 * supports.
 */
export function isOpenaiModel(name: string): boolean {
  return openaiModels.some((pattern) => pattern.test(name));
}

const openaiModels = lists.openaiModels.patterns.map((pattern) => new RegExp(pattern));

/**
 * Returns the checked parameters that a provider supports.
 * @param provider name of the provider. A provider without its own list gets the list `unlisted`, or
 *   the list of `openai` if the endpoint has no such list.
 */
export function supportedParameters(provider: string, endpoint: string): ReadonlySet<string> {
  return new Set(supportedList(provider, endpoint));
}

function supportedList(provider: string, endpoint: string): string[] {
  // Text completions use the list for chat. Only OpenAI has its own list for them.
  if (endpoint === 'completions') {
    return supportedList(provider === 'openai' ? 'text-completion-openai' : provider, 'chat/completions');
  }
  const byProvider = lists.supported[endpoint];
  const names = byProvider?.[provider] ?? byProvider?.['unlisted'] ?? byProvider?.['openai'] ?? [];
  return names.flatMap((name) => {
    if (name === '...checked') return [...checkedParameters(endpoint)];
    return name.startsWith('...') ? supportedList(name.slice(3), endpoint) : [name];
  });
}

/** Returns the parameters that have another name at a provider: OpenAI's name → the provider's. */
export function renamedParameters(provider: string): ReadonlyMap<string, string> {
  return renamed.get(provider) ?? nothingRenamed;
}

const renamed = new Map(
  Object.entries(lists.renamed).map(([provider, names]) => [provider, new Map(Object.entries(names))]),
);
const nothingRenamed: ReadonlyMap<string, string> = new Map();

/**
 * Returns whether a parameter is for the proxy. It does not go upstream. Exception: a parameter that is
 * for the proxy only at some endpoints goes upstream if `allowed_openai_params` names it.
 */
export function isConsumed(name: string, endpoint: string): boolean {
  if ((consumed.get(endpoint) ?? consumedEverywhere).has(name)) return true;
  for (const prefix of consumedPrefixes) if (name.startsWith(prefix)) return true;
  return false;
}

const consumedPrefixes = lists.consumed['prefixes'] ?? [];
const consumedEverywhere: ReadonlySet<string> = new Set(lists.consumed['everywhere']);
const consumed = new Map(
  checkedEndpoints.map((endpoint) => [endpoint, new Set([...consumedEverywhere, ...consumedList(endpoint)])]),
);

function consumedList(endpoint: string): string[] {
  const names = lists.consumed[endpoint] ?? [];
  return names.flatMap((name) => (name.startsWith('...') ? consumedList(name.slice(3)) : [name]));
}
