/** `model_list`: from its entries, with all that they inherit, to deployments. */
import { createHash } from 'node:crypto';
import type { Deployment, Timeouts } from '../providers/deployment.js';
import { findProvider, isKnownProvider } from '../providers/index.js';
import { openaiParameters } from '../providers/parameters.js';
import type { Provider } from '../providers/provider.js';
import { findBlock, holds, type FoundBlock } from './blocks.js';
import { defaults } from './defaults.js';
import type { Environment } from './environment-references.js';
import { readBlock, type Block, type Findings } from './faults.js';
import { fromEnvironment } from './given-text.js';
import { foreignProviders, upstreamParameters } from './known-names.js';
import { normalUrl } from './setting-types.js';
import { entryTable, paramsTable, type routerTable, type settingsTable } from './settings.js';
import type { TlsResolver } from './tls-settings.js';
import { entryNames, noteUnknownKeys, paramsNames, type NotBuilt } from './unknown-keys.js';
import { nodeAt, toPlain, type KeyPath, type YamlMapping, type YamlNode } from './yaml-node.js';

/** What every deployment may inherit from. */
export interface Inherited {
  readonly settings: Block<typeof settingsTable>;
  readonly router: Block<typeof routerTable>;
  /** By `credential_name`: the mapping `credential_values`. */
  readonly credentials: ReadonlyMap<string, YamlMapping>;
  readonly tls: TlsResolver;
  readonly environment: Environment;
  /** What holds where neither deployment, router nor general settings say anything. */
  readonly requestTimeoutSeconds: number;
  readonly findings: Findings;
  readonly notBuilt: NotBuilt;
}

export interface ModelList {
  readonly deployments: readonly Deployment[];
  /** Public names that can not be served, and why. */
  readonly unserved: ReadonlyMap<string, string>;
}

/** One entry and where it stands. */
export interface Entry {
  readonly node: YamlNode;
  readonly path: KeyPath;
}

const PARAMS = 'litellm_params';

/** Reads the entries. Faults and warnings are noted; an entry at fault gives no deployment. */
export function readModelList(entries: readonly Entry[], inherited: Inherited): ModelList {
  const deployments: Deployment[] = [];
  const unserved = new Map<string, string>();
  const ids = new Map<string, Entry>();
  for (const entry of entries) {
    const read = readEntry(entry, inherited);
    if (read === undefined) continue;
    if ('reason' in read) {
      unserved.set(read.modelName, read.reason);
      continue;
    }
    // Two that differ in nothing but their keys are still two.
    let id = read.id;
    for (let copy = 2; ids.has(id); copy += 1) {
      const other = ids.get(id);
      if (other !== undefined && read.modelInfo['id'] !== undefined) {
        const { findings } = inherited;
        findings.fault(entry.node, [...entry.path, 'model_info', 'id'], `is also that of line ${other.node.line}`);
        break;
      }
      id = digest([read.id, copy]);
    }
    ids.set(id, entry);
    deployments.push({ ...read, id });
  }
  // One that another deployment of the same name serves is served.
  for (const { modelName } of deployments) unserved.delete(modelName);
  return { deployments, unserved };
}

interface Unserved {
  readonly modelName: string;
  readonly reason: string;
}

function readEntry({ node, path }: Entry, inherited: Inherited): Deployment | Unserved | undefined {
  const { findings, notBuilt } = inherited;
  if (node.kind !== 'mapping') {
    findings.fault(node, path, 'must be a mapping with model_name and litellm_params');
    return undefined;
  }
  const entry = readBlock(entryTable, node, path, findings);
  const { modelName } = entry.values;
  if (modelName === undefined && !entry.places.has('modelName'))
    findings.fault(node, path, 'model_name is missing: the name that clients ask for');
  const faultsBefore = findings.faultCount;
  const found = findBlock(
    node,
    path,
    {
      names: [PARAMS, 'params'],
      looksLike: (block) => holds(block, 'model') && (holds(block, 'api_base') || holds(block, 'base_url')),
      taken: ['model_info'],
    },
    findings,
  );
  const isParams = (key: string) => key === PARAMS || key === 'params' || key === found?.path.at(-1);
  noteUnknownKeys(
    entry.rest.filter(([key]) => !isParams(key)),
    path,
    entryNames,
    { findings, notBuilt },
  );
  if (found === undefined) {
    // Where two could be it, or it is no mapping, that was said.
    if (findings.faultCount === faultsBefore)
      findings.fault(node, path, `${PARAMS} is missing: the mapping that says which model this is, and where`);
    return undefined;
  }
  const params = withCredential(found, inherited);
  // Read to the end without a name, too: its faults are faults.
  const read = readParams({ modelName: modelName ?? '', modelInfo: entry.values.modelInfo ?? {}, params, inherited });
  return modelName === undefined ? undefined : read;
}

const isNothing = (node: YamlNode) => node.kind === 'scalar' && node.value === null;

/** The params with the values of the credential that they name, where they have none themselves. */
function withCredential(params: FoundBlock, { credentials, findings }: Inherited): FoundBlock {
  const name = params.node.members.get('litellm_credential_name');
  if (name?.kind !== 'scalar' || typeof name.value !== 'string') return params;
  const credential = credentials.get(name.value);
  if (credential === undefined) {
    findings.fault(
      name,
      [...params.path, 'litellm_credential_name'],
      `there is no ${JSON.stringify(name.value)} in credential_list`,
    );
    return params;
  }
  const members = new Map([...credential.members, ...params.node.members]);
  return { node: { ...params.node, members }, path: params.path };
}

interface ParamsInput {
  readonly modelName: string;
  readonly modelInfo: Readonly<Record<string, unknown>>;
  readonly params: FoundBlock;
  readonly inherited: Inherited;
}

function readParams({ modelName, modelInfo, params, inherited }: ParamsInput): Deployment | Unserved | undefined {
  const { findings, notBuilt, settings, environment } = inherited;
  const { node, path } = params;
  const block = readBlock(paramsTable, node, path, findings);
  const { values } = block;
  const parameters = readParameters(block.rest, path, { findings, notBuilt });
  const tls = inherited.tls.resolve(block, settings);
  const extraHeaders = readHeaders(block, findings);
  if (values.model === undefined) {
    if (!block.places.has('model'))
      findings.fault(node, path, 'model is missing: what the upstream calls it, such as hosted_vllm/gpt-oss-120b');
    return undefined;
  }

  const target = splitModel(values.model, values.customLlmProvider);
  const at = block.places.get('model') ?? params;
  const unserved = (reason: string): Unserved => {
    findings.warn(at.node, at.path, `${reason}: ${modelName} is not served by this entry`);
    return { modelName, reason };
  };
  if (foreignProviders.has(target.provider))
    return unserved(`${target.provider} has an API of its own, which is not built yet`);
  const known = isKnownProvider(target.provider);
  if (!known && values.apiBase === undefined) {
    // At fault already: its address is not to be complained of as well.
    if (block.places.has('apiBase')) return undefined;
    return unserved(`${target.provider} is no known provider, and there is no api_base`);
  }
  if (!known)
    findings.warn(
      at.node,
      at.path,
      `${target.provider} is no known provider: taken as one that speaks OpenAI's API, asked for ${target.model}`,
    );
  const provider = findProvider(target.provider);
  if (values.apiBase === undefined && block.places.has('apiBase')) return undefined;
  const apiBase = values.apiBase ?? environmentBase(provider, inherited) ?? provider.defaultApiBase ?? undefined;
  if (apiBase === undefined) {
    findings.fault(
      node,
      path,
      `api_base is missing: ${target.provider} has no address of its own${unset(provider.apiBaseEnvironment)}`,
    );
    return undefined;
  }
  const apiKey =
    values.apiKey === undefined ? (firstOf(provider.apiKeyEnvironment, environment) ?? null) : values.apiKey;
  if (apiKey === null && apiBase === provider.defaultApiBase)
    findings.warn(node, path, `there is no api_key${unset(provider.apiKeyEnvironment)}: requests carry none`);

  const deployment: Omit<Deployment, 'id'> = {
    modelName,
    provider,
    upstreamModel: target.model,
    apiBase: withoutRoute(apiBase, block, findings),
    apiKey: values.apiKey === undefined ? (firstOf(provider.apiKeyEnvironment, environment) ?? null) : values.apiKey,
    tls,
    timeouts: timeoutsOf(block, inherited),
    streamTimeouts: streamTimeoutsOf(block, inherited),
    dropParams: values.dropParams ?? settings.values.dropParams ?? false,
    additionalDropParams: values.additionalDropParams ?? [],
    allowedOpenaiParams: values.allowedOpenaiParams ?? [],
    defaults: parameters,
    extraBody: values.extraBody ?? {},
    extraHeaders,
    modelInfo,
    useInPassThrough: values.useInPassThrough ?? false,
    weight: values.weight ?? defaults.weight,
  };
  const { id } = modelInfo;
  return {
    ...deployment,
    id:
      typeof id === 'string' || typeof id === 'number'
        ? String(id)
        : digest([modelName, provider.name, deployment.upstreamModel, deployment.apiBase, extraHeaders, parameters]),
  };
}

/** A stable name: 64 hexadecimal digits. No key goes into it: it is shown to clients (`x-litellm-model-id`). */
function digest(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex');
}

const unset = (names: readonly string[]) => (names.length === 0 ? '' : `, and ${names.join(' or ')} is not set`);

/** The address that the provider's variable holds. */
function environmentBase(provider: Provider, { environment, findings }: Inherited): string | undefined {
  const name = provider.apiBaseEnvironment.find((candidate) => fromEnvironment(environment, candidate) !== undefined);
  const given = name === undefined ? undefined : fromEnvironment(environment, name);
  if (given === undefined) return undefined;
  const url = normalUrl(given.text);
  if (url === undefined)
    findings.faultAt(given.origin, `${given.place} must be a URL such as https://host/v1, without user and query`);
  return url ?? given.text;
}

function firstOf(names: readonly string[], environment: Environment): string | undefined {
  return names.map((name) => environment[name]?.trim() ?? '').find((text) => text !== '');
}

/** `hosted_vllm/gpt-oss-120b` to its two parts; what stands behind the first slash is the upstream's, slashes too. */
function splitModel(model: string, provider: string | undefined): { provider: string; model: string } {
  if (provider !== undefined)
    return { provider, model: model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model };
  const slash = model.indexOf('/');
  // LiteLLM knows OpenAI's names without a prefix; so may everything be that speaks its API.
  if (slash <= 0 || slash === model.length - 1) return { provider: 'openai', model };
  return { provider: model.slice(0, slash), model: model.slice(slash + 1) };
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

interface Notes {
  readonly findings: Findings;
  readonly notBuilt: NotBuilt;
}

/** The keys that are parameters of requests, with their values. */
function readParameters(rest: Block<typeof paramsTable>['rest'], path: KeyPath, notes: Notes): Record<string, unknown> {
  const isParameter = ([key]: readonly [string, YamlNode]) => openaiParameters.has(key) || upstreamParameters.has(key);
  const parameters = rest.filter(isParameter);
  const others = rest.filter((member) => !isParameter(member));
  const unknown = noteUnknownKeys(others, path, paramsNames, { ...notes, parameters: [...openaiParameters] });
  for (const [key, node] of unknown)
    notes.findings.warn(node, [...path, key], 'is not known: it goes upstream as a parameter of every request');
  return Object.fromEntries(
    [...parameters, ...unknown].filter(([, node]) => !isNothing(node)).map(([key, node]) => [key, toPlain(node)]),
  );
}

/** Names lower case, all of them such as HTTP has. */
function readHeaders(block: Block<typeof paramsTable>, findings: Findings): Record<string, string> {
  const place = block.places.get('extraHeaders');
  const { organization } = block.values;
  const headers: Record<string, string> = organization === undefined ? {} : { 'openai-organization': organization };
  for (const [name, value] of Object.entries(block.values.extraHeaders ?? {})) {
    const fault = headerFault(name, value);
    if (fault !== undefined && place !== undefined)
      findings.fault(nodeAt(place.node, [name]), [...place.path, name], fault);
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** They would break the request, or make two of it. */
const FRAMING = new Set(['host', 'content-length', 'transfer-encoding', 'connection', 'upgrade', 'content-type', 'te']);

function headerFault(name: string, value: string): string | undefined {
  // RFC 9110 §5.6.2, §5.5
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'is no name of a header';
  // eslint-disable-next-line no-control-regex -- these are what a header can not hold
  if (/[\0-\x08\x0a-\x1f\x7f]/.test(value) || /[^\0-\xff]/.test(value)) return 'has characters that no header can hold';
  return FRAMING.has(name.toLowerCase()) ? 'is set by the proxy itself' : undefined;
}

const ms = (seconds: number) => (seconds === 0 ? null : Math.round(seconds * 1000));

function totalSeconds({ values }: Block<typeof paramsTable>, inherited: Inherited): number {
  const { router, settings, requestTimeoutSeconds } = inherited;
  return values.timeout ?? router.values.timeout ?? settings.values.requestTimeout ?? requestTimeoutSeconds;
}

function timeoutsOf(block: Block<typeof paramsTable>, inherited: Inherited): Timeouts {
  const own = block.values;
  const general = inherited.settings.values;
  const firstByte = own.firstByteTimeout ?? general.firstByteTimeout;
  return {
    connectMs: ms(own.connectTimeout ?? general.connectTimeout ?? defaults.connectTimeoutSeconds),
    firstByteMs: firstByte === undefined ? null : ms(firstByte),
    idleMs: ms(own.idleTimeout ?? general.idleTimeout ?? defaults.idleTimeoutSeconds),
    totalMs: ms(totalSeconds(block, inherited)),
  };
}

/**
 * A stream may take as long as it has something to say: what bounds a plain answer bounds its first byte, as LiteLLM's HTTP client
 * has it.
 */
function streamTimeoutsOf(block: Block<typeof paramsTable>, inherited: Inherited): Timeouts {
  const { router } = inherited;
  const plain = timeoutsOf(block, inherited);
  const streamTimeout = block.values.streamTimeout ?? router.values.streamTimeout;
  return {
    ...plain,
    firstByteMs: streamTimeout === undefined ? (plain.firstByteMs ?? plain.totalMs) : ms(streamTimeout),
    totalMs: null,
  };
}
