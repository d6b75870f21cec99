/** Checks whether a deployment works. */
import { errorOfFailedAnswer } from '../upstream/classify.js';
import { withoutModelGroup } from '../upstream/model-group.js';
import type { Log } from '@rackless/daemon/log/log.js';
import { toProxyError } from '../errors/proxy-error.js';
import { ChunkList } from '../json/chunk-list.js';
import type { Deployment } from '../providers/deployment.js';
import type { CheckResult } from '../routing/check-record.js';
import { listRequest, modelRequest, type CheckRequest, type CheckState } from './check-requests.js';

const HEALTHY: CheckResult = { error: null, status: null, isChecked: true, provesFailure: false };

/** Statuses of upstreams that do not show their list of models, at all or with this key. */
const noListStatuses: ReadonlySet<number | null> = new Set([403, 404, 405, 501]);

/** The status for a wrong key. The model's requests use the same key, so this answer proves that they fail, too. */
const WRONG_KEY = 401;

/** Deployments of upstreams that do not show their list → rounds until the next try to read it. */
const unlisted = new WeakMap<Deployment, number>();
/** Rounds without a try to read the list. Later, the upstream or the rights of the key may have changed. */
const UNLISTED_ROUNDS = 10;

/**
 * Results of reading lists in a round, also of lists that are being read. The key of the map has everything that
 * determines the request and its timeouts, so deployments with the same key share a result.
 */
export type SharedListChecks = Map<string, Promise<CheckResult>>;

/**
 * Checks a deployment by a short request to its model, which costs tokens. Never rejects.
 * @param signal ends the check with an error as its result.
 */
export async function checkModel(
  proxy: CheckState,
  deployment: Deployment,
  signal?: AbortSignal,
): Promise<CheckResult> {
  try {
    const request = modelRequest(proxy, deployment);
    if (typeof request === 'string') return { error: request, status: null, isChecked: false, provesFailure: false };
    return await send(proxy, request, signal);
  } catch (thrown) {
    return unsent(thrown);
  }
}

/** Makes the result of a request that cannot be made, for example because of a setting. */
function unsent(thrown: unknown): CheckResult {
  const { message, status } = toProxyError(thrown);
  return { error: message, status, isChecked: false, provesFailure: false };
}

/** The state that the checks of a round share. */
interface Round {
  readonly lists: SharedListChecks;
  readonly log: Pick<Log, 'info'>;
  readonly signal: AbortSignal;
}

/**
 * Checks a deployment by the list of its upstream's models, which costs no tokens. If the upstream does not show
 * its list, sends a request to the model instead, in this round and in the next ten. Never rejects.
 */
export async function checkList(
  proxy: CheckState,
  deployment: Deployment,
  { lists, log, signal }: Round,
): Promise<CheckResult> {
  const rounds = unlisted.get(deployment) ?? 0;
  if (rounds > 0) {
    unlisted.set(deployment, rounds - 1);
    return checkModel(proxy, deployment, signal);
  }
  const result = await readList(proxy, deployment, lists, signal);
  if (!noListStatuses.has(result.status)) return result;
  if (!unlisted.has(deployment))
    log.info('an upstream does not show its list of models: health checks send requests that cost tokens', {
      deployment: deployment.id,
      status: result.status,
    });
  unlisted.set(deployment, UNLISTED_ROUNDS);
  return checkModel(proxy, deployment, signal);
}

function readList(
  proxy: CheckState,
  deployment: Deployment,
  lists: SharedListChecks,
  signal: AbortSignal,
): Promise<CheckResult> {
  const { provider, apiBase, query, apiKey, extraHeaders, tls, token, timeouts, modelInfo } = deployment;
  const target = [provider.name, apiBase, query, apiKey, extraHeaders, tls, token];
  const key = JSON.stringify([...target, timeouts, modelInfo['health_check_timeout']]);
  let reading = lists.get(key);
  if (reading === undefined) {
    reading = sendList(proxy, deployment, signal);
    lists.set(key, reading);
  }
  return reading;
}

/** Sends the request for the list. Never rejects. */
async function sendList(proxy: CheckState, deployment: Deployment, signal: AbortSignal): Promise<CheckResult> {
  try {
    return await send(proxy, listRequest(proxy, deployment), signal);
  } catch (thrown) {
    return unsent(thrown);
  }
}

/** Sends a request, and reads its answer. @param signal aborts the request, and the result is an error. */
function send({ upstream }: CheckState, check: CheckRequest, signal?: AbortSignal): Promise<CheckResult> {
  const { request, selection, answersJson, maxAnswerMb, isForList } = check;
  return new Promise((resolve) => {
    // 0 until the head has arrived.
    let status = 0;
    let head: readonly string[] = [];
    const received = new ChunkList();
    let length = 0;
    const end = (error: string | null, failedStatus: number | null): void => {
      signal?.removeEventListener('abort', abort);
      const provesFailure = !isForList || status === 0 || status === WRONG_KEY;
      resolve(
        error === null
          ? HEALTHY
          : { error: withoutModelGroup(error), status: failedStatus, isChecked: true, provesFailure },
      );
    };
    const stop = (error: string, failedStatus: number): void => {
      call.abort();
      end(error, failedStatus);
    };
    const abort = (): void => stop('the proxy has stopped the check', 503);
    // The upstream client does not catch exceptions of its handlers. Without this wrapper, the check would never end.
    const caught =
      <Values extends unknown[]>(handle: (...values: Values) => void) =>
      (...values: Values): void => {
        try {
          handle(...values);
        } catch (thrown) {
          stop(`reading the answer to a health check: ${toProxyError(thrown).message}`, 500);
        }
      };
    const call = upstream.send(request, {
      onHead: caught((answerStatus: number, headers: readonly string[]) => {
        status = answerStatus;
        head = headers;
      }),
      onData: caught((chunk: Buffer) => {
        received.push(chunk);
        length += chunk.length;
        if (length > maxAnswerMb * 1_048_576)
          stop(`the upstream sent more than ${maxAnswerMb} MB in reply to a health check`, 502);
      }),
      onEnd: caught(() => {
        const body = Buffer.concat(received.chunks);
        if (status < 200 || status >= 300) {
          end(errorOfFailedAnswer(status, head, body, selection).message, status);
        } else if (answersJson && !isJsonObjectOrArray(body)) {
          end(`the upstream answered ${status}, but its answer is not JSON: is api_base right?`, 502);
        } else end(null, null);
      }),
      onError: (error) => end(error.message, error.status),
    });
    signal?.addEventListener('abort', abort);
    if (signal?.aborted === true) abort();
  });
}

/** Returns whether a body is a JSON object or array. */
function isJsonObjectOrArray(body: Buffer): boolean {
  try {
    const value: unknown = JSON.parse(body.toString());
    return typeof value === 'object' && value !== null;
  } catch {
    return false;
  }
}
