/**
 * `/health`: sends a short request to each deployment of the configuration, or of the model in the
 * query. These requests cost tokens, as LiteLLM's do.
 * Probes should use `/health/liveliness`, which sends none.
 */
import { randomUUID } from 'node:crypto';
import { defaults } from '../config/defaults.js';
import { endpoints } from '../endpoints/index.js';
import type { SharedState } from '../exchange/exchange.js';
import { shownApiBase } from '../exchange/answer/answer-headers.js';
import { createJsonBody } from '../exchange/request/json-body.js';
import { upstreamRequest } from '../exchange/request/upstream-request.js';
import { toProxyError } from '../errors/proxy-error.js';
import { ChunkList } from '../json/chunk-list.js';
import type { Deployment } from '../providers/deployment.js';
import { errorOfFailedAnswer } from '../upstream/classify.js';
import { translationOf } from '../providers/translation.js';
import type { Selection } from '../routing/router.js';

/** The result for one deployment. */
interface HealthEntry {
  readonly model: string;
  readonly api_base: string;
  readonly model_id: string;
  /** The error; absent for a healthy deployment. */
  readonly error?: string;
}

/** The answer of `/health`, in LiteLLM's shape. */
export interface HealthReport {
  readonly healthy_endpoints: readonly HealthEntry[];
  readonly unhealthy_endpoints: readonly HealthEntry[];
  readonly healthy_count: number;
  readonly unhealthy_count: number;
}

/**
 * Number of concurrent checks of a report, limited so that they do not slow down clients' requests.
 */
const CONCURRENT_CHECKS = 8;
/** Token limit of a check's answer: enough for one word. */
const MAX_TOKENS = 5;
/** Maximum size of the answer to a check; even the audio of one word is far smaller. */
const MAX_ANSWER_MB = 16;

/** Checks deployments, a few at a time. @param deployments in the order of the report. */
export async function checkHealth(serving: SharedState, deployments: readonly Deployment[]): Promise<HealthReport> {
  const entries: HealthEntry[] = [];
  for (let start = 0; start < deployments.length; start += CONCURRENT_CHECKS) {
    const batch = deployments.slice(start, start + CONCURRENT_CHECKS);
    entries.push(...(await Promise.all(batch.map((deployment) => check(serving, deployment)))));
  }
  const healthy = entries.filter(({ error }) => error === undefined);
  const unhealthy = entries.filter(({ error }) => error !== undefined);
  return {
    healthy_endpoints: healthy,
    unhealthy_endpoints: unhealthy,
    healthy_count: healthy.length,
    unhealthy_count: unhealthy.length,
  };
}

async function check(serving: SharedState, deployment: Deployment): Promise<HealthEntry> {
  const { provider, upstreamModel, id } = deployment;
  const entry = { model: `${provider.name}/${upstreamModel}`, api_base: shownApiBase(deployment), model_id: id };
  const error = await sendCheck(serving, deployment).catch((thrown: unknown) => toProxyError(thrown).message);
  return error === undefined ? entry : { ...entry, error };
}

/** Mode → request body. Other modes need files, which a check does not send. */
const checkBodies: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  chat: { messages: [{ role: 'user', content: 'Hi' }], max_tokens: MAX_TOKENS },
  completion: { prompt: 'Hi', max_tokens: MAX_TOKENS },
  embedding: { input: 'Hi' },
  responses: { input: 'Hi' },
  rerank: { query: 'Hi', documents: ['Hi'] },
  moderation: { input: 'Hi' },
  audio_speech: { input: 'Hi', voice: 'alloy' },
};

/** Sends a check. @returns what is wrong; undefined if the deployment is healthy. */
async function sendCheck(serving: SharedState, deployment: Deployment): Promise<string | undefined> {
  const { modelInfo } = deployment;
  const mode = typeof modelInfo['mode'] === 'string' ? modelInfo['mode'] : 'chat';
  const checkBody = checkBodies[mode];
  const endpoint = endpoints.find((candidate) => candidate.mode === mode && candidate.requestBody === 'json');
  if (checkBody === undefined || endpoint === undefined) return `models of mode ${mode} cannot be checked`;
  const configuredModel = modelInfo['health_check_model'];
  const upstreamModel =
    typeof configuredModel === 'string'
      ? configuredModel.replace(`${deployment.provider.name}/`, '')
      : deployment.upstreamModel;
  if (upstreamModel.includes('*')) return 'a wildcard needs model_info.health_check_model to name a model';

  const body = createJsonBody();
  body.push(Buffer.from(JSON.stringify({ model: upstreamModel, ...checkBody })));
  body.finish();
  const selection: Selection = { deployment, modelGroup: deployment.modelName, upstreamModel };
  const given = Number(modelInfo['health_check_timeout']);
  const seconds = given > 0 ? given : defaults.healthCheckTimeoutSeconds;
  const timeouts = { ...deployment.timeouts, totalMs: seconds * 1000 };
  const id = randomUUID();
  const streams = false;
  const translated = translationOf(deployment.provider, endpoint.path, upstreamModel, streams);
  const configuredRequest = upstreamRequest({
    serving,
    selection,
    endpoint,
    body,
    id,
    head: {},
    clientQuery: undefined,
    clientTimeouts: null,
    streams,
    translated,
  });
  const request = { ...configuredRequest, timeouts };
  return new Promise((resolve) => {
    let status = 0;
    let head: readonly string[] = [];
    const received = new ChunkList();
    let length = 0;
    const call = serving.upstream.send(request, {
      onHead: (answerStatus, headers) => {
        status = answerStatus;
        head = headers;
      },
      onData: (chunk) => {
        received.push(chunk);
        length += chunk.length;
        if (length <= MAX_ANSWER_MB * 1_048_576) return;
        call.abort();
        resolve(`the upstream sent more than ${MAX_ANSWER_MB} MB in reply to a health check`);
      },
      onEnd: () =>
        resolve(
          status >= 200 && status < 300
            ? undefined
            : errorOfFailedAnswer(status, head, Buffer.concat(received.chunks), selection).message,
        ),
      onError: (error) => resolve(error.message),
    });
  });
}
