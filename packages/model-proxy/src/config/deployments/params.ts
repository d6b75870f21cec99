/** Makes a deployment from `litellm_params` and the settings that they inherit. */
import { createHash } from 'node:crypto';
import type { Deployment } from '../../providers/deployment.js';
import { withNativeEndpoints } from '../../providers/messages/native-endpoints.js';
import type { TokenSettings } from '../../providers/token.js';
import { openaiParameters } from '../../providers/parameters.js';
import { targetsByProvider } from './any-provider.js';
import type { FoundBlock } from '../blocks.js';
import { readExtraHeaders } from './extra-headers.js';
import { readBlock, type Block } from '../faults.js';
import { priceRows } from './price-rows.js';
import { upstreamParameters } from '../names/known-names.js';
import type { limitRows } from '../routing/router-table.js';
import { paramsTable, type generalTable } from '../settings.js';
import { streamTimeoutsOf, timeoutsOf, type TimeoutSources } from './timeouts.js';
import type { TlsResolver } from '../tls-settings.js';
import { groupOf } from '../names/unimplemented.js';
import { reportUnknownKeys, paramsNames, type IgnoredSettings } from '../names/unknown-keys.js';
import { readTarget, type TargetOptions, type UpstreamTarget } from './upstream-target.js';
import { toPlain, type KeyPath, type YamlNode } from '@rackless/daemon/yaml/yaml-node.js';

/** Settings that deployments inherit. */
export interface Inherited extends TimeoutSources, TargetOptions {
  readonly general: Block<typeof generalTable>;
  readonly tls: TlsResolver;
  readonly ignoredSettings: IgnoredSettings;
}

/** An entry that the proxy cannot serve, with the reason. This is not a fault of the file. */
export interface Unserved {
  readonly modelName: string;
  readonly reason: string;
}

/** Input of {@link readParams}. */
interface ParamsInput {
  readonly modelName: string;
  readonly modelInfo: Readonly<Record<string, unknown>>;
  /** Limits of the entry; those of the params have priority. */
  readonly entryLimits?: Partial<Block<typeof limitRows>['values']>;
  readonly params: FoundBlock;
  readonly inherited: Inherited;
}

/**
 * Reads the whole block and adds its faults to the findings.
 * @returns a deployment, or {@link Unserved}; undefined if the target has a fault. Other faults do not change the
 *   result, but the proxy does not start, because the findings contain the faults.
 */
export function readParams({
  modelName,
  modelInfo,
  entryLimits,
  params,
  inherited,
}: ParamsInput): Deployment | Unserved | undefined {
  const { findings, ignoredSettings, settings } = inherited;
  const block = readBlock(paramsTable, params.node, params.path, findings);
  const { values } = block;
  const parameters = readParameters(block.rest, params.path, { findings, ignoredSettings });
  const tls = inherited.tls.resolve(block, settings);
  const extraHeaders = readExtraHeaders(block, findings);
  const target = readTarget(block, params, inherited);
  if (target === undefined) return undefined;
  if (typeof target === 'string') {
    const modelPlace = block.places.get('model') ?? params;
    findings.warn(modelPlace.node, modelPlace.path, `${target}: ${modelName} is not served by this entry`);
    return { modelName, reason: target };
  }
  const { id } = modelInfo;
  const { ownHeaders, token, parameters: ownParameters = [], ...upstream } = target;
  const { provider, upstreamModel, apiBase } = upstream;
  const deployment: Deployment = {
    ...upstream,
    provider: withNativeEndpoints(provider, modelInfo),
    ...tokenOf(token, inherited),
    id:
      typeof id === 'string' || typeof id === 'number'
        ? String(id)
        : deploymentIdOf([modelName, provider.name, upstreamModel, apiBase, Object.keys(extraHeaders), parameters]),
    modelName,
    tls,
    timeouts: timeoutsOf(block, inherited),
    streamTimeouts: streamTimeoutsOf(block, inherited),
    dropParams: values.dropParams ?? settings.values.dropParams ?? false,
    additionalDropParams: values.additionalDropParams ?? [],
    allowedOpenaiParams: [...ownParameters, ...(values.allowedOpenaiParams ?? [])],
    defaults: parameters,
    extraBody: values.extraBody ?? {},
    extraHeaders: { ...ownHeaders, ...extraHeaders },
    modelInfo: { ...pricesOf(values), ...modelInfo },
    rpm: values.rpm ?? entryLimits?.rpm ?? null,
    tpm: values.tpm ?? entryLimits?.tpm ?? null,
    maxParallelRequests:
      values.maxParallelRequests ??
      entryLimits?.maxParallelRequests ??
      inherited.router.values.defaultMaxParallelRequests ??
      inherited.general.values.maxParallelRequests ??
      null,
    order: values.order ?? null,
    retries: values.numRetries ?? null,
    cooldownMs: values.cooldownTime === undefined ? null : values.cooldownTime * 1000,
    useInPassThrough: values.useInPassThrough ?? false,
    weight: values.weight ?? null,
  };
  const targets = targetsByProvider(block, params, inherited);
  if (targets === undefined) return deployment;
  const deploymentAt = ([name, providerTarget]: readonly [string, UpstreamTarget | null]) =>
    [name, providerTarget === null ? null : deploymentAtTarget(deployment, providerTarget, inherited)] as const;
  // The deployment itself stands for OpenAI, or for the server at the entry's api_base. So it gets that target's key.
  const { apiKey } = targets.get('openai') ?? target;
  return { ...deployment, apiKey, byProvider: new Map([...targets].map(deploymentAt)) };
}

/** Returns a copy of a deployment for any model, with the target of one provider. */
function deploymentAtTarget(
  deployment: Deployment,
  { ownHeaders, token, parameters: _parameters, ...target }: UpstreamTarget,
  inherited: Inherited,
): Deployment {
  const extraHeaders = { ...ownHeaders, ...deployment.extraHeaders };
  const provider = withNativeEndpoints(target.provider, deployment.modelInfo);
  return { ...deployment, ...target, provider, ...tokenOf(token, inherited), extraHeaders };
}

/**
 * Returns the member `token` of a deployment; an empty object if it needs no token. The TLS settings of
 * `litellm_settings` apply to the token server, and those of the deployment do not.
 */
function tokenOf(token: TokenSettings | undefined, { tls, settings }: Inherited): Pick<Deployment, 'token'> {
  return token === undefined ? {} : { token: { settings: token, tls: tls.resolve(undefined, settings) } };
}

/** Returns the prices under the names of `model_info`. */
function pricesOf(values: Block<typeof paramsTable>['values']): Record<string, number> {
  const given: Record<string, number> = {};
  for (const [key, row] of Object.entries(priceRows)) {
    const price = values[key as keyof typeof priceRows]; // Object.entries returns its keys as strings
    if (price !== undefined) given[row.name] = price;
  }
  return given;
}

/**
 * Makes a stable id of 64 hexadecimal digits from a value. Clients see the id (`x-litellm-model-id`), so `value`
 * must not contain secrets.
 */
export function deploymentIdOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

const openaiParameterNames = [...openaiParameters];

/**
 * Reads the keys that are parameters of requests, with their values. Reports the other keys without a row. Unknown keys
 * that are not similar to a known name also become parameters. Leaves out keys with the value null.
 */
function readParameters(
  rest: Block<typeof paramsTable>['rest'],
  path: KeyPath,
  notes: Pick<Inherited, 'findings' | 'ignoredSettings'>,
): Record<string, unknown> {
  const isParameter = ([key]: readonly [string, YamlNode]) =>
    (openaiParameters.has(key) && groupOf(paramsNames.groups, key) === undefined) || upstreamParameters.has(key);
  const parameters = rest.filter(isParameter);
  const others = rest.filter((member) => !isParameter(member));
  const unknown = reportUnknownKeys(others, path, paramsNames, { ...notes, parameters: openaiParameterNames });
  for (const [key, node] of unknown)
    notes.findings.warn(node, [...path, key], 'is not known: it goes upstream as a parameter of every request');
  return Object.fromEntries(
    [...parameters, ...unknown].filter(([, node]) => !isNull(node)).map(([key, node]) => [key, toPlain(node)]),
  );
}

const isNull = (node: YamlNode) => node.kind === 'scalar' && node.value === null;
