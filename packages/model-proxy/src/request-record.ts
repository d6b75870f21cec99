/** What is left of a request when it is over: a line in the log, numbers in the metrics, and nothing upstream. */
import { performance } from 'node:perf_hooks';
import type { Log } from '@rackless/daemon/log.js';
import { overheadOf, shownApiBase } from './endpoints/answer-headers.js';
import type { Exchange } from './endpoints/exchange.js';
import { plainPath } from './endpoints/paths.js';
import type { ProxyError } from './errors.js';
import type { Metrics } from './metrics.js';
import type { Deployment } from './providers/deployment.js';

/** nginx's word for a client that did not wait. */
const CLIENT_GONE = 499;

/** Call it once, when the response is over, whoever ended it. */
export function recordRequest(exchange: Exchange, metrics: Metrics, log: Log): void {
  const { response, call, selection, error, usage, startedAt, sentAt, firstByteAt } = exchange;
  const now = performance.now();
  const gone = !response.writableFinished && !exchange.upgraded;
  // The upstream must not go on for nobody.
  if (gone && exchange.answeredAt === 0) call?.abort();
  const status = exchange.upgraded ? 101 : gone && !response.headersSent ? CLIENT_GONE : response.statusCode;
  const totalMs = now - startedAt;
  const firstTokenMs = exchange.streamed && firstByteAt !== 0 ? firstByteAt - startedAt : null;
  const upstreamMs = sentAt === 0 ? null : (exchange.answeredAt || now) - sentAt;
  metrics.requestFinished({
    route: exchange.routeLabel,
    modelGroup: selection?.deployment.modelName ?? '',
    modelId: selection?.deployment.id ?? '',
    status,
    errorKind: error?.kind ?? null,
    totalMs,
    upstreamMs,
    firstTokenMs,
    overheadMs: sentAt === 0 ? null : overheadOf(exchange, now),
    inputTokens: usage?.inputTokens ?? 0,
    outputTokens: usage?.outputTokens ?? 0,
    totalTokens: usage?.totalTokens ?? 0,
    droppedHeaders: exchange.droppedHeaders,
  });
  log.request({
    id: exchange.id,
    user: exchange.client?.alias ?? null,
    method: exchange.request.method ?? '',
    path: plainPath(exchange.request.url ?? '/'),
    status,
    ms: rounded(totalMs),
    ...(error?.kind === 'authentication' ? { refused: error.message } : {}),
    more: linePart(exchange, upstreamMs, firstTokenMs, gone),
  });
  if (error !== null) tell(log, exchange.id, error, selection?.deployment);
}

type LinePart = Record<string, string | number | boolean>;

function linePart(
  { selection }: Exchange,
  upstreamMs: number | null,
  firstTokenMs: number | null,
  gone: boolean,
): Readonly<LinePart> {
  const part: LinePart = {};
  if (selection !== null) {
    part['model'] = selection.modelGroup;
    part['deployment'] = selection.deployment.id;
  }
  if (upstreamMs !== null) part['upstreamMs'] = rounded(upstreamMs);
  if (firstTokenMs !== null) part['firstTokenMs'] = rounded(firstTokenMs);
  if (gone) part['gone'] = true;
  return part;
}

const rounded = (milliseconds: number) => Math.round(milliseconds * 1000) / 1000;

/** Told of once each. */
const withoutVersion = new WeakSet<Deployment>();

/** What a client did wrong is in the request's line; an upstream's trouble is told with its reason, ours with its place. */
function tell(log: Log, id: string, error: ProxyError, deployment: Deployment | undefined): void {
  if (error.kind === 'request' || error.kind === 'authentication' || error.status === 429) return;
  if (error.kind === 'internal') log.error('answering a request failed', { id, error });
  else log.warn('a request could not be served', { id, error });
  // The commonest mistake in a configuration: OpenAI's clients want /v1, and nobody adds it here.
  if (deployment === undefined || error.kind !== 'upstreamStatus' || error.status !== 404) return;
  if (/\/v\d+(?:beta)?(?:\/|$)/.test(deployment.apiBase) || withoutVersion.has(deployment)) return;
  withoutVersion.add(deployment);
  log.warn('an upstream has no such path, and its api_base does not end in /v1: should it?', {
    deployment: deployment.id,
    apiBase: shownApiBase(deployment),
  });
}
