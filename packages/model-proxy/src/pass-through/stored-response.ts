/**
 * Requests about a stored response: read, delete, cancel, and list its input. The id leads to the
 * deployment that made the response.
 * @see https://platform.openai.com/docs/api-reference/responses
 */
import { performance } from 'node:perf_hooks';
import { responses } from '../endpoints/responses.js';
import { methodNotAllowed, noSuchResponse } from '../errors/path.js';
import { requireModelAccess } from '../exchange/admission.js';
import { refuse } from '../exchange/answer/refusal.js';
import { renaming } from '../exchange/answer/renaming.js';
import { Attempt } from '../exchange/attempts/attempt.js';
import type { Exchange } from '../exchange/exchange.js';
import { requestTimeouts, shownTimeout } from '../exchange/request-timeouts.js';
import { upstreamHeaders } from '../exchange/request/upstream-headers.js';
import { endpointUrl } from '../exchange/request/upstream-request.js';
import { decodeResponseId } from '../providers/response-id.js';
import type { Selection } from '../routing/router.js';
import { sendContinue } from './body-reader.js';
import { onePerAccount } from './choose.js';
import type { RawTask } from './decide.js';
import { staysBelow, type RawTarget } from './paths.js';
import { queryText, valueIn } from './query.js';

type StoredTarget = Extract<RawTarget, { readonly kind: 'response' }>;

/** Path after the id → methods. */
const methodsOf: ReadonlyMap<string, readonly string[]> = new Map([
  ['', ['GET', 'DELETE']],
  ['/cancel', ['POST']],
  ['/input_items', ['GET']],
]);

/**
 * Sends a request, and the upstream's answer to the client. Ignores a body.
 * @throws {ProxyError} 404: no deployment has this response; 403: the key may not use its model; 405; 429.
 */
export function sendStored({ exchange, path, query }: RawTask, { id, rest }: StoredTarget): void {
  const { proxy, request, response } = exchange;
  const { method = '' } = request;
  const allowed = methodsOf.get(rest) ?? [];
  if (!allowed.includes(method)) throw methodNotAllowed(method, path, allowed.join(', '));
  exchange.usesStoredAnswer = true;
  exchange.routeLabel = `/v1/responses/{id}${rest}`;
  const { selection, upstreamId } = storedAt(exchange, id);
  exchange.responseId = upstreamId;
  const { deployment } = selection;
  requireModelAccess(exchange.client?.key, selection.modelGroup, undefined);
  const { limits } = proxy;
  const limited = limits.admit(deployment);
  if (limited !== undefined) throw limited;
  response.once('close', () => limits.release(deployment));
  const streams = valueIn(query, 'stream') === 'true';
  const timeouts = requestTimeouts(exchange.clientTimeouts, deployment, streams);
  const { settings, version } = proxy;
  const endpoint = { path: `${responses.path}/${encodeURIComponent(upstreamId)}${rest}`, besideVersion: false };
  const url = endpointUrl(deployment, endpoint, null, { model: selection.upstreamModel, streams });
  const more = queryText(query.filter(({ name }) => name !== 'api-version'));
  const outgoing = {
    deployment,
    method,
    url: url.includes('?') ? url + more.replace('?', '&') : url + more,
    headers: upstreamHeaders({
      deployment,
      version,
      id: exchange.id,
      contentType: 'application/json',
      clientHeaders: settings.forwardClientHeaders ? request.headers : null,
      anthropicHeaders: null,
    }),
    body: [],
    timeouts,
  };
  sendContinue(exchange);
  request.resume();
  exchange.receivedAt = performance.now();
  exchange.beginAttempt(selection, shownTimeout(timeouts, streams));
  const rename = renaming(settings.modelNameInResponse, deployment.provider.name, selection.modelGroup);
  const traced = proxy.trace?.sending(exchange.id, outgoing) ?? null;
  const attempt = new Attempt({ exchange, endpoint: responses, rename, translated: null }, traced, {
    onComplete: () => undefined,
    onFailure: (error, upstream) => refuse(exchange, error, upstream),
    onBreak: () => undefined,
  });
  exchange.call = attempt;
  attempt.call = proxy.upstream.send(outgoing, attempt);
}

/**
 * Finds the deployment of a response. An id that the proxy has not made is accepted only if all deployments
 * share one account, and the client's key is not limited to some models.
 * @throws {ProxyError} 404: there is no such deployment, it has a dialect, or the id leads to another path.
 */
function storedAt({ proxy, client }: Exchange, id: string): { selection: Selection; upstreamId: string } {
  const { deployments } = proxy.settings;
  const stored = decodeResponseId(id);
  const [only, second] = stored === undefined ? onePerAccount(deployments) : [];
  const deployment =
    stored === undefined
      ? second === undefined && client?.key?.isRestricted !== true
        ? only
        : undefined
      : deployments.find((candidate) => candidate.id === stored.deploymentId);
  const upstreamId = stored?.upstreamId ?? id;
  // A client can write any text into an id, also one that an upstream reads as another path.
  const isSegment = staysBelow(encodeURIComponent(upstreamId));
  if (deployment === undefined || deployment.provider.dialect !== undefined || !isSegment) throw noSuchResponse(id);
  const { modelName: modelGroup, upstreamModel } = deployment;
  return { selection: { deployment, modelGroup, upstreamModel }, upstreamId };
}
