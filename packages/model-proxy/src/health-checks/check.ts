/** Checks whether a deployment works. */
import { errorOfFailedAnswer } from '../upstream/classify.js';
import { withoutModelGroup } from '../upstream/model-group.js';
import { toProxyError } from '../errors/proxy-error.js';
import { ChunkList } from '../json/chunk-list.js';
import type { Deployment } from '../providers/deployment.js';
import type { CheckResult } from '../routing/check-record.js';
import { listRequest, modelRequest, type CheckRequest, type CheckState } from './check-requests.js';

const HEALTHY: CheckResult = { error: null, status: null, isChecked: true };

/** Statuses of upstreams that do not show their list of models, at all or with this key. */
const withoutList: ReadonlySet<number | null> = new Set([403, 404, 405, 501]);

/** Deployments of upstreams that do not show their list. */
const unlisted = new WeakSet<Deployment>();

/** Lists that are being read, by the request. Deployments at one upstream with one key share a list. */
export type SharedLists = Map<string, Promise<CheckResult>>;

/** Checks a deployment by a short request to its model, which costs tokens. Never rejects. */
export async function checkModel(
  serving: CheckState,
  deployment: Deployment,
  signal?: AbortSignal,
): Promise<CheckResult> {
  try {
    const request = modelRequest(serving, deployment);
    if (typeof request === 'string') return { error: request, status: null, isChecked: false };
    return await send(serving, request, signal);
  } catch (thrown) {
    return unsent(thrown);
  }
}

/** Makes the result of a request that cannot be made, for example because of a setting. */
function unsent(thrown: unknown): CheckResult {
  const { message, status } = toProxyError(thrown);
  return { error: message, status, isChecked: false };
}

/**
 * Checks a deployment by the list of its upstream's models, which costs no tokens. If the upstream
 * does not show its list, sends a request to the model. Never rejects.
 */
export async function checkList(
  serving: CheckState,
  deployment: Deployment,
  lists: SharedLists,
  signal: AbortSignal,
): Promise<CheckResult> {
  if (unlisted.has(deployment)) return checkModel(serving, deployment, signal);
  const result = await readList(serving, deployment, lists, signal);
  if (!withoutList.has(result.status)) return result;
  unlisted.add(deployment);
  return checkModel(serving, deployment, signal);
}

function readList(
  serving: CheckState,
  deployment: Deployment,
  lists: SharedLists,
  signal: AbortSignal,
): Promise<CheckResult> {
  const { provider, apiBase, query, apiKey, extraHeaders, tls, token, timeouts, modelInfo } = deployment;
  const target = [provider.name, apiBase, query, apiKey, extraHeaders, tls, token];
  const key = JSON.stringify([...target, timeouts, modelInfo['health_check_timeout']]);
  let reading = lists.get(key);
  if (reading === undefined) {
    reading = sendList(serving, deployment, signal);
    lists.set(key, reading);
  }
  return reading;
}

/** Sends the request for the list. Never rejects. */
async function sendList(serving: CheckState, deployment: Deployment, signal: AbortSignal): Promise<CheckResult> {
  try {
    return await send(serving, listRequest(serving, deployment), signal);
  } catch (thrown) {
    return unsent(thrown);
  }
}

/** Sends a request. @param signal aborts it. */
function send({ upstream }: CheckState, check: CheckRequest, signal?: AbortSignal): Promise<CheckResult> {
  const { request, selection, answersJson, maxAnswerMb } = check;
  return new Promise((resolve) => {
    let status = 0;
    let head: readonly string[] = [];
    const received = new ChunkList();
    let length = 0;
    const end = (error: string | null, failedStatus: number | null): void => {
      signal?.removeEventListener('abort', abort);
      resolve(error === null ? HEALTHY : { error: withoutModelGroup(error), status: failedStatus, isChecked: true });
    };
    const call = upstream.send(request, {
      onHead: (answerStatus, headers) => {
        status = answerStatus;
        head = headers;
      },
      onData: (chunk) => {
        received.push(chunk);
        length += chunk.length;
        if (length <= maxAnswerMb * 1_048_576) return;
        call.abort();
        end(`the upstream sent more than ${maxAnswerMb} MB in reply to a health check`, 502);
      },
      onEnd: () => {
        const body = Buffer.concat(received.chunks);
        if (status < 200 || status >= 300) {
          end(errorOfFailedAnswer(status, head, body, selection).message, status);
        } else if (answersJson && !isJsonObject(body)) {
          end(`the upstream answered ${status}, but its answer is not JSON: is api_base right?`, 502);
        } else end(null, null);
      },
      onError: (error) => end(error.message, error.status),
    });
    const abort = (): void => {
      call.abort();
      end('the proxy has stopped the check', 503);
    };
    signal?.addEventListener('abort', abort);
    if (signal?.aborted === true) abort();
  });
}

/** Returns whether a body is an object or a list in JSON. */
function isJsonObject(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}
