/** Resolves the provider, the address and the key of an entry. */
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';
import { findProvider, isKnownProvider, knownProviders, providerOfAddress } from '../../providers/index.js';
import { providerOfModel } from '../../providers/model-names.js';
import type { Deployment } from '../../providers/deployment.js';
import type { Provider } from '../../providers/provider.js';
import type { TargetSettings } from '../../providers/target.js';
import type { TokenSettings } from '../../providers/token.js';
import type { FoundBlock } from '../blocks.js';
import type { Environment } from '../../settings.js';
import type { Block, Findings } from '../faults.js';
import { fromEnvironment } from '../given-text.js';
import { foreignProviders } from '../names/known-names.js';
import { normalUrl, URL_FORM } from '../setting-types.js';
import { paramsTable } from '../settings.js';

/** The part of a deployment that decides where its requests go. */
export interface UpstreamTarget extends Pick<Deployment, 'query' | 'pathOf' | 'formFields'> {
  readonly token?: TokenSettings;
  readonly provider: Provider;
  /** The model's name without the provider's prefix. */
  readonly upstreamModel: string;
  readonly apiBase: string;
  readonly apiKey: string | null;
  /** OpenAI parameters that this target supports in addition to those of its provider. */
  readonly parameters?: readonly string[];
  /** Headers of the provider for this target. */
  readonly ownHeaders: Readonly<Record<string, string>>;
}

/** Options of {@link readTarget}. */
export interface TargetOptions {
  readonly environment: Environment;
  readonly findings: Findings;
}

/**
 * Resolves the target from the params, then from the provider's environment variables, then from
 * the provider's defaults.
 * @returns a string: the reason why the model cannot be served, which is not a fault of the file.
 *   undefined: the file has a fault.
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
        'model is missing: the provider and the name of the model, such as hosted_vllm/gpt-oss-120b',
      );
    return undefined;
  }
  // If the address is faulty, other faults may disappear with its correction, so they are not
  // reported.
  const baseIsFaulty = values.apiBase === undefined && places.has('apiBase');
  const named = nameProvider(values.model, values.customLlmProvider, values.apiBase);
  if (named === undefined) {
    const modelPlace = places.get('model') ?? params;
    if (!baseIsFaulty) findings.fault(modelPlace.node, modelPlace.path, unknownProvider(values.model));
    return undefined;
  }
  const { name, model } = named;
  if (foreignProviders.has(name)) return `${name} has its own API, which is not implemented`;
  if (!isKnownProvider(name)) {
    if (values.apiBase === undefined && !baseIsFaulty)
      return `${name} is not a known provider, and there is no api_base`;
    const modelPlace = places.get('model') ?? params;
    findings.warn(
      modelPlace.node,
      modelPlace.path,
      `${name} is not a known provider: the proxy uses OpenAI's API with the model ${model}`,
    );
  }
  if (baseIsFaulty) return undefined;

  const provider = findProvider(name);
  const given = values.apiBase ?? environmentBase(provider, { environment, findings }) ?? null;
  const [address, query] = given?.split('?') ?? [];
  const base = address === undefined ? null : withoutEndpointPath(address, block, findings);
  const value = valueReader(block, environment);
  const derived =
    provider.targetOf?.({ apiBase: base, query: query ?? null, apiKey: values.apiKey ?? null, model, value }) ?? null;
  if (typeof derived === 'string') return derived;
  const { headers: ownHeaders = {}, query: ownQuery = query, api, ...own } = derived ?? {};
  const target = {
    provider: api === undefined ? provider : { ...provider, ...api },
    upstreamModel: model,
    ...own,
    ...(ownQuery === undefined || ownQuery === null ? {} : { query: ownQuery }),
    ownHeaders,
  };
  const apiBase = derived?.apiBase ?? base ?? provider.defaultApiBase;
  if (apiBase === null) {
    const missing = `api_base is missing: ${name} has no default address${unset(provider.apiBaseEnvironment)}`;
    findings.fault(params.node, params.path, missing);
    return undefined;
  }
  // The target authenticates without a key, so the proxy sends neither `api_key` nor a key of the environment.
  if (derived?.apiKey === null) return { ...target, apiBase, apiKey: null };
  const apiKey = values.apiKey === undefined && named.isSure ? environmentKey(provider, environment) : values.apiKey;
  if (apiKey === undefined) noteUnsentKey(provider, apiBase, params, { environment, findings });
  else if (values.apiKey === undefined && apiKey !== null && values.apiBase !== undefined)
    noteKeyElsewhere(provider, apiBase, params, { environment, findings });
  if (apiKey === null && apiBase === provider.defaultApiBase) {
    const missing = `there is no api_key${unset(provider.apiKeyEnvironment)}: requests are sent without a key`;
    findings.warn(params.node, params.path, missing);
  }
  return { ...target, apiBase, apiKey: apiKey ?? null };
}

/** Returns the function with which providers read settings and variables. */
function valueReader({ values }: Block<typeof paramsTable>, environment: Environment): TargetSettings['value'] {
  const texts = new Map(
    // Object.entries returns the keys as strings.
    Object.entries(paramsTable).map(([key, row]) => [row.name, values[key as keyof typeof paramsTable]]),
  );
  return (setting, ...variables) => {
    const configured = setting === null ? undefined : texts.get(setting);
    if (typeof configured === 'string') return configured;
    const variable = firstSetVariable(variables, environment);
    return variable === undefined ? undefined : environment[variable]?.trim();
  };
}

const unset = (names: readonly string[]) => (names.length === 0 ? '' : `, and ${names.join(' or ')} is not set`);

/**
 * Returns the address from the provider's environment variable; undefined: no variable is set. Adds
 * a fault if the address is not a URL.
 */
function environmentBase(provider: Provider, { environment, findings }: TargetOptions): string | undefined {
  const name = provider.apiBaseEnvironment.find((candidate) => fromEnvironment(environment, candidate) !== undefined);
  const given = name === undefined ? undefined : fromEnvironment(environment, name);
  if (given === undefined) return undefined;
  const url = normalUrl(given.text);
  if (url === undefined) findings.faultAt(given.origin, `${given.place} must be ${URL_FORM}`);
  return url ?? given.text;
}

function environmentKey({ apiKeyEnvironment }: Provider, environment: Environment): string | null {
  const variable = firstSetVariable(apiKeyEnvironment, environment);
  return variable === undefined ? null : (environment[variable]?.trim() ?? null);
}

/** Returns the first variable that is set; undefined: none. An empty variable counts as not set. */
function firstSetVariable(names: readonly string[], environment: Environment): string | undefined {
  return names.find((name) => (environment[name]?.trim() ?? '') !== '');
}

/** A provider and the model's name there. */
interface NamedProvider {
  readonly name: string;
  readonly model: string;
  /**
   * Whether the entry identifies the provider: by name, by its address or by the name of the model. If
   * not, the proxy sends no key from the environment, because another vendor could get it.
   */
  readonly isSure: boolean;
}

/**
 * Finds the provider as LiteLLM does: by `custom_llm_provider`, by the prefix, by the address, by
 * the model's name. `hosted_vllm/openai/gpt` is `openai/gpt` at `hosted_vllm`. A prefix that is no known
 * provider is the provider only if neither the address nor the model's name identifies another one. If
 * nothing names the provider but there is an address, it is `openai` with `isSure: false`.
 * @returns undefined if nothing names the provider and there is no address.
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
  // For `*`, targetsByProvider selects the provider of each request.
  const byName = model === '*' && apiBase === undefined ? 'openai' : providerOfModel(model);
  if (byName !== undefined && (apiBase === undefined || isKnownProvider(byName)))
    return { name: byName, model, isSure: true };
  if (prefix !== undefined) return { name: prefix, model: model.slice(slash + 1), isSure: true };
  return apiBase === undefined ? undefined : { name: 'openai', model, isSure: false };
}

function unknownProvider(model: string): string {
  const near = [...knownProviders, ...foreignProviders].find((name) => model.startsWith(name));
  const example = near === undefined ? `such as hosted_vllm/${model}` : `${near}/${model}`;
  return `the name does not identify the provider: write the provider before the name, ${example}, or set api_base`;
}

/**
 * Warns if a vendor's key from the environment is sent to another server. The proxy sends the key, as LiteLLM
 * does, because the entry names both the vendor and the address.
 */
function noteKeyElsewhere(
  { apiKeyEnvironment, defaultApiBase }: Provider,
  apiBase: string,
  params: FoundBlock,
  { environment, findings }: TargetOptions,
): void {
  const variable = firstSetVariable(apiKeyEnvironment, environment);
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
  const variable = firstSetVariable(apiKeyEnvironment, environment);
  if (variable === undefined) return;
  const remedy = 'set api_key, or write openai/ before the name of the model';
  findings.warn(
    params.node,
    params.path,
    `${variable} is not sent to ${apiBase}, which may be another vendor: ${remedy}`,
  );
}

/**
 * Removes slashes from the end of an address, and then the path of chat, completions, embeddings or responses. Warns of
 * a removed path if the address is in the params. LiteLLM also accepts such an address.
 */
function withoutEndpointPath(apiBase: string, block: Block<typeof paramsTable>, findings: Findings): string {
  const base = withoutTrailingSlashes(apiBase);
  const stripped = base.replace(/\/(chat\/completions|completions|embeddings|responses)$/, '');
  const place = block.places.get('apiBase');
  if (stripped !== base && place !== undefined)
    findings.warn(place.node, place.path, `the route at its end is removed: the address is ${stripped}`);
  return stripped;
}
