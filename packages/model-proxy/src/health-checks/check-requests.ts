/** Makes the requests of health checks. */
import { randomUUID } from 'node:crypto';
import { defaults } from '../config/defaults.js';
import { endpoints } from '../endpoints/index.js';
import type { Endpoint } from '../endpoints/endpoint.js';
import type { ProxyState } from '../exchange/exchange.js';
import { createJsonBody } from '../exchange/request/json-body.js';
import { upstreamHeaders } from '../exchange/request/upstream-headers.js';
import { upstreamRequest } from '../exchange/request/upstream-request.js';
import type { Deployment } from '../providers/deployment.js';
import { translationOf } from '../providers/translation.js';
import type { Selection } from '../routing/router.js';
import type { UpstreamRequest } from '../upstream/upstream.js';

/** A request to a deployment, and how to read its answer. */
export interface CheckRequest {
  readonly request: UpstreamRequest;
  readonly selection: Selection;
  /** Whether a working upstream answers with JSON. */
  readonly answersJson: boolean;
  /** Maximum size of the answer. */
  readonly maxAnswerMb: number;
  /** Whether the request is for the list of models, not for the model itself. */
  readonly isForList: boolean;
}

/** The parts of the proxy's state that a check needs. */
export type CheckState = Pick<ProxyState, 'settings' | 'version' | 'upstream'>;

/** Token limit of an answer of modes `chat` and `completion`, unless `model_info` has another one. */
const MAX_TOKENS = 1;
/** Maximum size of the answer of a model. Even the audio of one word is far smaller. */
const MAX_ANSWER_MB = 16;
/** Maximum size of a list of models. The longest list in November 2026, OpenRouter's, has less than 1 MB. */
const MAX_LIST_MB = 4;

/** Mode → request body. Models of other modes cannot be checked by a request to the model. */
const checkBodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: MAX_TOKENS },
  completion: { prompt: 'Hi', max_tokens: MAX_TOKENS },
  embedding: { input: 'Hi' },
  responses: { input: 'Hi' },
  rerank: { query: 'Hi', documents: ['Hi'] },
  moderation: { input: 'Hi' },
  audio_speech: { input: 'Hi', voice: 'alloy' },
};

/** Modes whose requests may have `max_tokens` and `reasoning_effort`. */
const generates: ReadonlySet<string> = new Set(['chat', 'completion']);

/**
 * Makes a short request to a model, which costs tokens.
 * @returns the request; a text if the model cannot be checked: the reason.
 * @throws {ProxyError} 400: the provider does not have the endpoint, or does not support a parameter.
 */
export function modelRequest(proxy: CheckState, deployment: Deployment): CheckRequest | string {
  const { modelInfo, provider } = deployment;
  const mode = typeof modelInfo['mode'] === 'string' ? modelInfo['mode'] : 'chat';
  const checkBody = checkBodies[mode];
  const endpoint = endpoints.find((candidate) => candidate.mode === mode && candidate.requestBody === 'json');
  if (checkBody === undefined || endpoint === undefined) return `models of mode ${mode} cannot be checked`;
  const upstreamModel =
    textOf(modelInfo['health_check_model'])?.replace(`${provider.name}/`, '') ?? deployment.upstreamModel;
  if (upstreamModel.includes('*')) return 'a wildcard needs model_info.health_check_model to name a model';

  const body = createJsonBody();
  body.push(Buffer.from(JSON.stringify({ model: upstreamModel, ...checkBody, ...ownMembers(mode, deployment) })));
  body.finish();
  const selection: Selection = { deployment, modelGroup: deployment.modelName, upstreamModel };
  const streams = false;
  const request = upstreamRequest({
    proxy,
    selection,
    endpoint,
    body,
    id: randomUUID(),
    head: {},
    clientQuery: undefined,
    clientTimeouts: null,
    streams,
    translated: translationOf(deployment, endpoint.path, upstreamModel, streams),
  });
  return {
    request: { ...request, timeouts: withTotal(deployment, defaults.healthCheckTimeoutSeconds) },
    selection,
    answersJson: endpoint.answersJson,
    maxAnswerMb: MAX_ANSWER_MB,
    isForList: false,
  };
}

/** Returns the members of the request that LiteLLM's `health_check_…` members of `model_info` set. */
function ownMembers(mode: string, { modelInfo }: Deployment): Readonly<Record<string, unknown>> {
  const maxTokens = modelInfo['health_check_max_tokens'];
  const effort = modelInfo['health_check_reasoning_effort'];
  const voice = textOf(modelInfo['health_check_voice']);
  const params = modelInfo['health_check_params'];
  return {
    ...(typeof params === 'object' ? params : {}),
    ...(generates.has(mode) && typeof maxTokens === 'number' ? { max_tokens: maxTokens } : {}),
    ...(generates.has(mode) && typeof effort === 'string' ? { reasoning_effort: effort } : {}),
    ...(mode === 'audio_speech' && voice !== undefined ? { voice } : {}),
  };
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);

/** Makes a request for the list of models, which costs no tokens. */
export function listRequest(proxy: CheckState, deployment: Deployment): CheckRequest {
  const { query, provider, apiKey, modelName, upstreamModel } = deployment;
  const url = `${baseOf(deployment)}/models${query === undefined ? '' : `?${query}`}`;
  const signature = provider.dialect?.sign?.({ apiKey, method: 'GET', url, body: [] }) ?? {};
  const headers = upstreamHeaders({
    deployment,
    version: proxy.version,
    id: randomUUID(),
    contentType: 'application/json',
    clientHeaders: null,
    anthropicHeaders: null,
  });
  const request = {
    deployment,
    method: 'GET',
    url,
    headers: [...headers, ...Object.entries(signature).flat()],
    body: [],
    timeouts: withTotal(deployment, defaults.modelListTimeoutSeconds),
  };
  const selection = { deployment, modelGroup: modelName, upstreamModel };
  return { request, selection, answersJson: true, maxAnswerMb: MAX_LIST_MB, isForList: true };
}

/** Returns `api_base`. If it ends with the path of an endpoint, removes that path. */
function baseOf({ apiBase }: Deployment): string {
  const isEnd = ({ path }: Pick<Endpoint, 'path'>) => apiBase.endsWith(`/${path}`);
  const lengths = endpoints.filter(isEnd).map(({ path }) => path.length + 1);
  return apiBase.slice(0, apiBase.length - Math.max(0, ...lengths));
}

function withTotal({ timeouts, modelInfo }: Deployment, standardSeconds: number) {
  const given = Number(modelInfo['health_check_timeout']);
  return { ...timeouts, totalMs: (given > 0 ? given : standardSeconds) * 1000 };
}
