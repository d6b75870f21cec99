/**
 * Reads which addresses get reports about requests: those of LiteLLM's callbacks `generic_api`, `generic` and
 * `webhook`, and of the callbacks that `callback_settings` names.
 * @see https://docs.litellm.ai/docs/observability/generic_api
 */
import type { YamlMapping, YamlNode } from '@rackless/daemon/yaml/yaml-node.js';
import type { Environment, WebhookSettings } from '../../settings.js';
import { defaults } from '../defaults.js';
import { ENVIRONMENT, readBlock, type Block, type Findings } from '../faults.js';
import { callbackOutcomes } from '../names/callbacks.js';
import { callbackTable } from './callback-table.js';
import type { IgnoredSettings } from '../names/unknown-keys.js';
import { normalUrl, URL_FORM } from '../setting-types.js';

/** Input of {@link readWebhooks}. */
interface WebhookInput {
  /** The documents, the first one with precedence. */
  readonly roots: readonly YamlMapping[];
  /** The keys of `litellm_settings` without a row. */
  readonly rest: readonly (readonly [string, YamlNode])[];
  readonly variables: Environment;
  readonly findings: Findings;
  readonly ignoredSettings: IgnoredSettings;
}

const BLOCK = 'callback_settings';
/** Variables with the address and the headers, by the name of the callback. */
const variablesOf: ReadonlyMap<string, readonly [url: string, headers: string | null]> = new Map([
  ['generic_api', ['GENERIC_LOGGER_ENDPOINT', 'GENERIC_LOGGER_HEADERS'] as const],
  ['generic', ['GENERIC_LOGGER_ENDPOINT', 'GENERIC_LOGGER_HEADERS'] as const],
  ['webhook', ['WEBHOOK_URL', null] as const],
]);

/**
 * Reads the settings. The callbacks in `litellm_settings` decide which entries of `callback_settings` are used.
 * @returns the webhooks, and the names of all entries of `callback_settings` with the type `generic_api`.
 */
export function readWebhooks(input: WebhookInput): {
  readonly webhooks: readonly WebhookSettings[];
  readonly callbacks: ReadonlySet<string>;
} {
  const blocks = readBlocks(input);
  const webhooks = [...callbackOutcomes(input.rest)].flatMap(([name, outcomes]) => {
    const block = blocks.get(name);
    const place = block === undefined ? fromVariables(name, input) : fromBlock(block);
    return place === undefined ? [] : [webhookOf(name, outcomes, place, block)];
  });
  return { webhooks, callbacks: new Set(blocks.keys()) };
}

type CallbackBlock = Block<typeof callbackTable>;

/** Reads the blocks with the type `generic_api`, which have the address of a receiver. Ignores all others. */
function readBlocks({ roots, findings, ignoredSettings }: WebhookInput): ReadonlyMap<string, CallbackBlock> {
  const blocks = new Map<string, CallbackBlock>();
  for (const root of roots) {
    const all = root.members.get(BLOCK);
    if (all === undefined) continue;
    if (all.kind !== 'mapping') {
      if (all.kind !== 'scalar' || all.value !== null) findings.fault(all, [BLOCK], 'must be a mapping');
      continue;
    }
    for (const [name, node] of all.members) {
      const path = [BLOCK, name];
      const type = node.kind === 'mapping' ? node.members.get(callbackTable.callbackType.name) : undefined;
      if (node.kind !== 'mapping' || type?.kind !== 'scalar' || type.value !== 'generic_api') {
        ignoredSettings.add(node, path);
        continue;
      }
      if (blocks.has(name)) continue;
      const block = readBlock(callbackTable, node, path, findings);
      if (!block.places.has('endpoint')) findings.fault(node, path, 'endpoint is missing: the URL of the receiver');
      for (const [key, member] of block.rest) findings.warn(member, [...path, key], 'is not known');
      blocks.set(name, block);
    }
  }
  return blocks;
}

/** The address of a receiver. */
type Place = Pick<WebhookSettings, 'url' | 'headers'>;

function fromBlock({ values: { endpoint, headers } }: CallbackBlock): Place | undefined {
  return endpoint === undefined ? undefined : { url: endpoint, headers: headers ?? {} };
}

function fromVariables(name: string, { variables, findings }: WebhookInput): Place | undefined {
  const names = variablesOf.get(name);
  if (names === undefined) return undefined;
  const [urlName, headersName] = names;
  const text = variables[urlName] ?? '';
  const url = normalUrl(text);
  if (url === undefined)
    findings.faultAt(
      ENVIRONMENT,
      text === ''
        ? `environment: the callback ${name} needs ${urlName}: set it`
        : `environment: ${urlName} must be ${URL_FORM}`,
    );
  return url === undefined ? undefined : { url, headers: headersOf(headersName, variables, findings) };
}

/** Reads headers as a JSON object or as `name=value,name=value`. */
function headersOf(name: string | null, variables: Environment, findings: Findings): Record<string, string> {
  const text = name === null ? '' : (variables[name] ?? '').trim();
  if (text === '') return {};
  const pairs = text.startsWith('{')
    ? entriesIn(text)
    : text.split(',').map((pair) => {
        const at = pair.indexOf('=');
        return [pair.slice(0, Math.max(0, at)).trim(), pair.slice(at + 1).trim()] as const;
      });
  if (pairs?.every(([key, value]) => /^[\w-]+$/.test(key) && HEADER_VALUE.test(value)))
    return Object.fromEntries(pairs);
  findings.faultAt(ENVIRONMENT, `environment: ${name} must be a JSON object, or name=value,name=value`);
  return {};
}

/** The bytes that a header may contain (RFC 9110 §5.5). */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

function entriesIn(json: string): readonly (readonly [string, string])[] | undefined {
  try {
    return Object.entries(JSON.parse(json) as object).map(([key, value]) => [key, String(value)]);
  } catch {
    return undefined; // the caller reports the fault
  }
}

/** Returns the settings of a webhook. @param block the callback's own settings; undefined: the defaults apply. */
export function webhookOf(
  name: string,
  outcomes: ReadonlySet<'success' | 'failure'>,
  place: Place,
  block: CallbackBlock | undefined,
): WebhookSettings {
  const { eventTypes, logFormat, batchSize, flushInterval, maxRetries, retryDelay, timeout } = block?.values ?? {};
  const isWanted = (outcome: string) => eventTypes === undefined || eventTypes.includes(`llm_api_${outcome}`);
  return {
    name,
    ...place,
    outcomes: new Set([...outcomes].filter(isWanted)),
    format: logFormat ?? 'json_array',
    batchSize: batchSize ?? defaults.callbackBatchSize,
    flushMs: (flushInterval ?? defaults.callbackFlushSeconds) * 1000,
    maxRetries: maxRetries ?? defaults.callbackRetries,
    retryDelayMs: (retryDelay ?? defaults.callbackRetrySeconds) * 1000,
    timeoutMs: (timeout ?? defaults.callbackTimeoutSeconds) * 1000,
  };
}
