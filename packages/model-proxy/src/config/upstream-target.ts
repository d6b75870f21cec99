/** Which provider a model is asked of, where, and with which key. */
import { findProvider, isKnownProvider } from '../providers/index.js';
import type { Provider } from '../providers/provider.js';
import type { FoundBlock } from './blocks.js';
import type { Environment } from '../settings.js';
import type { Block, Findings } from './faults.js';
import { fromEnvironment } from './given-text.js';
import { foreignProviders } from './known-names.js';
import { normalUrl } from './setting-types.js';
import type { paramsTable } from './settings.js';

/** Part of a deployment. */
export interface UpstreamTarget {
  readonly provider: Provider;
  /** Without the provider's prefix. */
  readonly upstreamModel: string;
  readonly apiBase: string;
  readonly apiKey: string | null;
}

export interface TargetOptions {
  readonly environment: Environment;
  readonly findings: Findings;
}

/**
 * Finds it from the params, then from the provider's variables, then from what the provider is known to have.
 * @returns a text: why it can not be served, which is no fault of the file; undefined: there is a fault, which is noted.
 */
export function readTarget(
  block: Block<typeof paramsTable>,
  params: FoundBlock,
  { environment, findings }: TargetOptions,
): UpstreamTarget | string | undefined {
  const { values, places } = block;
  if (values.model === undefined) {
    if (!places.has('model'))
      findings.fault(
        params.node,
        params.path,
        'model is missing: what the upstream calls it, such as hosted_vllm/gpt-oss-120b',
      );
    return undefined;
  }
  // At fault already: nothing is to be said of an address that may be right when the value is.
  const baseAtFault = values.apiBase === undefined && places.has('apiBase');
  const { name, model } = splitModel(values.model, values.customLlmProvider);
  if (foreignProviders.has(name)) return `${name} has an API of its own, which is not built yet`;
  if (!isKnownProvider(name)) {
    if (values.apiBase === undefined && !baseAtFault) return `${name} is no known provider, and there is no api_base`;
    const at = places.get('model') ?? params;
    findings.warn(
      at.node,
      at.path,
      `${name} is no known provider: taken as one that speaks OpenAI's API, asked for ${model}`,
    );
  }
  if (baseAtFault) return undefined;

  const provider = findProvider(name);
  const apiBase = values.apiBase ?? environmentBase(provider, { environment, findings }) ?? provider.defaultApiBase;
  if (apiBase === null) {
    const missing = `api_base is missing: ${name} has no address of its own${unset(provider.apiBaseEnvironment)}`;
    findings.fault(params.node, params.path, missing);
    return undefined;
  }
  const apiKey = values.apiKey === undefined ? environmentKey(provider, environment) : values.apiKey;
  if (apiKey === null && apiBase === provider.defaultApiBase) {
    const missing = `there is no api_key${unset(provider.apiKeyEnvironment)}: requests carry none`;
    findings.warn(params.node, params.path, missing);
  }
  return { provider, upstreamModel: model, apiBase: withoutRoute(apiBase, block, findings), apiKey };
}

const unset = (names: readonly string[]) => (names.length === 0 ? '' : `, and ${names.join(' or ')} is not set`);

/** The address that the provider's variable holds. */
function environmentBase(provider: Provider, { environment, findings }: TargetOptions): string | undefined {
  const name = provider.apiBaseEnvironment.find((candidate) => fromEnvironment(environment, candidate) !== undefined);
  const given = name === undefined ? undefined : fromEnvironment(environment, name);
  if (given === undefined) return undefined;
  const url = normalUrl(given.text);
  if (url === undefined)
    findings.faultAt(given.origin, `${given.place} must be a URL such as https://host/v1, without user and query`);
  return url ?? given.text;
}

function environmentKey({ apiKeyEnvironment }: Provider, environment: Environment): string | null {
  // An empty variable is how compose files leave one out.
  return apiKeyEnvironment.map((name) => environment[name]?.trim() ?? '').find((text) => text !== '') ?? null;
}

/** `hosted_vllm/gpt-oss-120b` to its two parts; what stands behind the first slash is the upstream's, slashes too. */
function splitModel(model: string, provider: string | undefined): { name: string; model: string } {
  if (provider !== undefined)
    return { name: provider, model: model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model };
  const slash = model.indexOf('/');
  // LiteLLM knows OpenAI's names without a prefix; so may everything be that speaks its API.
  if (slash <= 0 || slash === model.length - 1) return { name: 'openai', model };
  return { name: model.slice(0, slash), model: model.slice(slash + 1) };
}

/** LiteLLM takes an address that names the route already. */
function withoutRoute(apiBase: string, block: Block<typeof paramsTable>, findings: Findings): string {
  const base = apiBase.replace(/\/+$/, '');
  const stripped = base.replace(/\/(chat\/completions|completions|embeddings|responses)$/, '');
  const place = block.places.get('apiBase');
  if (stripped !== base && place !== undefined)
    findings.warn(place.node, place.path, `the route at its end is left out: ${stripped} is the address`);
  return stripped;
}
