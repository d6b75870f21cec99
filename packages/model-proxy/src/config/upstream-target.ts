/** Which provider a model is asked of, where, and with which key. */
import { findProvider, isKnownProvider, knownProviders, providerOfAddress } from '../providers/index.js';
import { providerOfModel } from '../providers/model-names.js';
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
  const named = nameProvider(values.model, values.customLlmProvider, values.apiBase);
  if (named === undefined) {
    const at = places.get('model') ?? params;
    if (!baseAtFault) findings.fault(at.node, at.path, unknownProvider(values.model));
    return undefined;
  }
  const { name, model } = named;
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
  const apiKey = values.apiKey === undefined && named.isSure ? environmentKey(provider, environment) : values.apiKey;
  if (apiKey === undefined) noteUnsentKey(provider, apiBase, params, { environment, findings });
  else if (values.apiKey === undefined && apiKey !== null && values.apiBase !== undefined)
    noteKeyElsewhere(provider, apiBase, params, { environment, findings });
  if (apiKey === null && apiBase === provider.defaultApiBase) {
    const missing = `there is no api_key${unset(provider.apiKeyEnvironment)}: requests carry none`;
    findings.warn(params.node, params.path, missing);
  }
  return { provider, upstreamModel: model, apiBase: withoutRoute(apiBase, block, findings), apiKey: apiKey ?? null };
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
  const variable = keyVariable(apiKeyEnvironment, environment);
  return variable === undefined ? null : (environment[variable]?.trim() ?? null);
}

/** The first that holds a key. An empty variable is how compose files leave one out. */
function keyVariable(names: readonly string[], environment: Environment): string | undefined {
  return names.find((name) => (environment[name]?.trim() ?? '') !== '');
}

/** A provider, and what it calls the model. */
interface NamedProvider {
  readonly name: string;
  readonly model: string;
  /** Whether the configuration names the provider. If not, no key of the environment is sent: it could reach another vendor. */
  readonly isSure: boolean;
}

/**
 * Finds the provider as LiteLLM does: by `custom_llm_provider`, the prefix, the address, the name of the model. `hosted_vllm/openai/gpt`
 * is `openai/gpt` of `hosted_vllm`. A name that tells nothing is asked by OpenAI's API, if there is an address to ask.
 * @returns undefined: nothing tells.
 */
function nameProvider(
  model: string,
  given: string | undefined,
  apiBase: string | undefined,
): NamedProvider | undefined {
  if (given !== undefined)
    return {
      name: given,
      model: model.startsWith(`${given}/`) ? model.slice(given.length + 1) : model,
      isSure: true,
    };
  const slash = model.indexOf('/');
  const prefix = slash > 0 && slash < model.length - 1 ? model.slice(0, slash) : undefined;
  const isProvider = prefix !== undefined && (isKnownProvider(prefix) || foreignProviders.has(prefix));
  if (isProvider) return { name: prefix, model: model.slice(slash + 1), isSure: true };
  const atAddress = apiBase === undefined ? undefined : providerOfAddress(apiBase);
  if (atAddress !== undefined) return { name: atAddress, model, isSure: true };
  // Which provider `*` means is decided for each request.
  const byName = model === '*' && apiBase === undefined ? 'openai' : providerOfModel(model);
  if (byName !== undefined && (apiBase === undefined || isKnownProvider(byName)))
    return { name: byName, model, isSure: true };
  if (prefix !== undefined) return { name: prefix, model: model.slice(slash + 1), isSure: true };
  return apiBase === undefined ? undefined : { name: 'openai', model, isSure: false };
}

function unknownProvider(model: string): string {
  const near = [...knownProviders, ...foreignProviders].find((name) => model.startsWith(name));
  const example = near === undefined ? `such as hosted_vllm/${model}` : `${near}/${model}`;
  return `the name does not say which provider this is: write it before the name, ${example}, or set api_base`;
}

/** The key of a vendor's variable goes where the configuration says, as in LiteLLM, even if that is not the vendor. */
function noteKeyElsewhere(
  { apiKeyEnvironment, defaultApiBase }: Provider,
  apiBase: string,
  params: FoundBlock,
  { environment, findings }: TargetOptions,
): void {
  const variable = keyVariable(apiKeyEnvironment, environment);
  if (variable === undefined || defaultApiBase === null) return;
  if (new URL(apiBase).origin === new URL(defaultApiBase).origin) return;
  findings.warn(
    params.node,
    params.path,
    `${variable} is sent to ${apiBase}: set api_key if that server has another key`,
  );
}

function noteUnsentKey(
  { apiKeyEnvironment }: Provider,
  apiBase: string,
  params: FoundBlock,
  { environment, findings }: TargetOptions,
): void {
  const variable = keyVariable(apiKeyEnvironment, environment);
  if (variable === undefined) return;
  const remedy = 'set api_key, or write openai/ before the name of the model';
  findings.warn(
    params.node,
    params.path,
    `${variable} is not sent to ${apiBase}, which may be another vendor: ${remedy}`,
  );
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
