/**
 * The lists of parameters, read once from `parameters.json` (which names its sources): what is checked at all, what each dialect
 * understands, and what belongs to the proxy and never goes upstream.
 * @see https://docs.litellm.ai/docs/completion/drop_params
 */
import { readFileSync } from 'node:fs';

/** As the file has them; a list may take over another by `...name`. */
interface ParameterLists {
  readonly checked: Readonly<Record<string, readonly string[]>>;
  readonly neverRefused: readonly string[];
  readonly neverRefusedWhenOne: readonly string[];
  readonly openaiModels: { readonly patterns: readonly string[] };
  readonly supported: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
  readonly renamed: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly consumed: Readonly<Record<string, readonly string[]>>;
}

// Our own file, as it was built; its test holds its shape.
const lists = JSON.parse(readFileSync(new URL('./parameters.json', import.meta.url), 'utf8')) as ParameterLists;

const none: ReadonlySet<string> = new Set();

/**
 * OpenAI's parameters that are checked at an endpoint; any other parameter is the upstream's own and passes.
 * @param endpoint its path: `chat/completions`. Of one without a list nothing is checked.
 */
export function checkedParameters(endpoint: string): ReadonlySet<string> {
  return checked.get(endpoint) ?? none;
}

const checked = new Map(Object.entries(lists.checked).map(([endpoint, names]) => [endpoint, new Set(names)]));

/** The endpoints that have a list, by path. */
export const checkedEndpoints: readonly string[] = Object.keys(lists.checked);

/** OpenAI's parameters of all endpoints that have a list. */
export const openaiParameters: ReadonlySet<string> = new Set(Object.values(lists.checked).flat());

/** Never an error, whoever does not understand them: they are left out in silence. */
export const neverRefused: ReadonlySet<string> = new Set(lists.neverRefused);

/** Never an error with the value 1, which some clients send without being asked. */
export const neverRefusedWhenOne: ReadonlySet<string> = new Set(lists.neverRefusedWhenOne);

/** Whether OpenAI itself serves a model of that name: it is asked for nothing that it does not know. */
export function isOpenaiModel(name: string): boolean {
  return openaiModels.some((pattern) => pattern.test(name));
}

const openaiModels = lists.openaiModels.patterns.map((pattern) => new RegExp(pattern));

/**
 * What a dialect understands of the parameters that are checked.
 * @param provider one without a list of its own understands what `openai/` does.
 */
export function supportedParameters(provider: string, endpoint: string): ReadonlySet<string> {
  return new Set(supportedList(provider, endpoint));
}

function supportedList(provider: string, endpoint: string): string[] {
  // Text completions are checked against the chat list, except for OpenAI's own dialect, which has one for them.
  if (endpoint === 'completions') {
    return supportedList(provider === 'openai' ? 'text-completion-openai' : provider, 'chat/completions');
  }
  const dialects = lists.supported[endpoint];
  const names = dialects?.[provider] ?? dialects?.['unlisted'] ?? dialects?.['openai'] ?? [];
  return names.flatMap((name) => {
    if (name === '...checked') return [...checkedParameters(endpoint)];
    return name.startsWith('...') ? supportedList(name.slice(3), endpoint) : [name];
  });
}

/** Parameters that a dialect spells otherwise: OpenAI's name → its own. */
export function renamedParameters(provider: string): ReadonlyMap<string, string> {
  return renamed.get(provider) ?? nothingRenamed;
}

const renamed = new Map(
  Object.entries(lists.renamed).map(([provider, names]) => [provider, new Map(Object.entries(names))]),
);
const nothingRenamed: ReadonlyMap<string, string> = new Map();

/** Whether a member of a request speaks to the proxy; such a one never goes upstream, whatever its value. */
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
