/**
 * Records a finished request: writes a log line and updates the metrics, spans, reports and usage. If
 * the client has disconnected, also ends the upstream's request.
 */
import { performance } from 'node:perf_hooks';
import type { Log } from '@rackless/daemon/log/log.js';
import { overheadOf, shownApiBase } from './exchange/answer/answer-headers.js';
import type { Exchange } from './exchange/exchange.js';
import { countedCost } from './exchange/counted-usage.js';
import { countResponseOnce } from './exchange/count-response-once.js';
import { isReported, reportOf } from './exchange/report.js';
import { settle } from './exchange/settle.js';
import { requestStart } from './exchange/attempts/outgoing.js';
import { plainPath } from './endpoints/paths.js';
import type { ProxyError } from './errors/proxy-error.js';
import type { Metrics } from './metrics.js';
import type { RequestRecord } from './series.js';
import type { Telemetry } from './request-span.js';
import type { Deployment } from './providers/deployment.js';

/** nginx's status for a client that disconnected before the answer. */
const CLIENT_GONE = 499;

/** Records a request. The caller calls it exactly once, when the response has ended or failed. */
export function recordRequest(exchange: Exchange, metrics: Metrics, log: Log): void {
  metrics.requestEnded();
  record(exchange, metrics, log);
  if (exchange.hasPlace) exchange.proxy.overload.leave();
}

function record(exchange: Exchange, metrics: Metrics, log: Log): void {
  const { response, call, selection, error, startedAt, sentAt, firstByteAt } = exchange;
  const now = performance.now();
  const clientGone = !response.writableFinished && !exchange.upgraded;
  // The client has disconnected: end the upstream's request, or the wait for a retry.
  if (clientGone) call?.abort();
  // Each model of a list has its own metrics, spans, usage and line in the log.
  for (const part of exchange.parts) record(part, metrics, log);
  // The end of the upstream's request may have set the usage, so read the usage only now.
  countResponseOnce(exchange);
  const usage = exchange.usesStoredAnswer ? null : exchange.usage;
  const status = exchange.upgraded ? 101 : clientGone && !response.headersSent ? CLIENT_GONE : response.statusCode;
  const totalMs = now - startedAt;
  const firstTokenMs = exchange.streamed && firstByteAt !== 0 ? firstByteAt - startedAt : null;
  const upstreamMs = sentAt === 0 ? null : (exchange.answeredAt || now) - sentAt;
  const entry = {
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
    costUsd: countedCost(exchange),
    retries: exchange.retries,
    fallbacks: exchange.fallbacks,
    droppedHeaders: exchange.droppedHeaders,
    failedAttempts: exchange.failedAttempts,
  };
  if (exchange.parts.length === 0) metrics.add(entry);
  if (exchange.proxy.telemetry !== null) endSpan(exchange, exchange.proxy.telemetry, entry);
  if (exchange.proxy.reports !== null && isReported(exchange)) {
    const outcome = status >= 400 || error !== null ? 'failure' : 'success';
    exchange.proxy.reports.add(outcome, () => reportOf(exchange, entry));
  }
  settle(exchange, entry.costUsd);
  log.request({
    id: exchange.id,
    user: exchange.client?.alias ?? null,
    method: exchange.request.method ?? '',
    path: plainPath(exchange.request.url ?? '/'),
    status,
    ms: rounded(totalMs),
    refused: error?.kind === 'authentication' ? error.message : undefined,
    more: linePart(exchange, upstreamMs, firstTokenMs, clientGone),
  });
  if (error !== null) logError(log, exchange.id, error, selection?.deployment);
}

/** Ends the spans of a request. A POST that never reached an upstream gets a span now. */
function endSpan(exchange: Exchange, telemetry: Telemetry, record: RequestRecord): void {
  const { span, request, answeredAt, client } = exchange;
  if (span === null && request.method !== 'POST') return;
  const ended = span ?? telemetry.begin(requestStart(exchange));
  ended.end({ record, answeredAt, keyAlias: client?.alias ?? null });
}

type LinePart = Record<string, string | number | boolean>;

function linePart(
  { selection }: Exchange,
  upstreamMs: number | null,
  firstTokenMs: number | null,
  clientGone: boolean,
): Readonly<LinePart> {
  const part: LinePart = {};
  if (selection !== null) {
    part['model'] = selection.modelGroup;
    part['deployment'] = selection.deployment.id;
  }
  if (upstreamMs !== null) part['upstreamMs'] = rounded(upstreamMs);
  if (firstTokenMs !== null) part['firstTokenMs'] = rounded(firstTokenMs);
  if (clientGone) part['gone'] = true;
  return part;
}

const rounded = (milliseconds: number) => Math.round(milliseconds * 1000) / 1000;

/** Deployments with a logged warning about their api_base: one warning each. */
const warnedDeployments = new WeakSet<Deployment>();

/**
 * Logs an error. Ignores faults of the client and errors with status 429, because the request's own line is
 * enough. For upstream errors, the log has the reason; for internal errors, also the stack.
 */
function logError(log: Log, id: string, error: ProxyError, deployment: Deployment | undefined): void {
  if (error.kind === 'request' || error.kind === 'authentication' || error.status === 429) return;
  if (error.kind === 'internal') log.error('answering a request failed with an internal error', { id, error });
  else log.warn('a request could not be served', { id, error });
  // The most common configuration mistake: OpenAI's clients expect /v1 in the base URL, and the
  // operator omitted it.
  if (deployment === undefined || error.kind !== 'upstreamStatus' || error.status !== 404) return;
  if (/\/v\d+(?:beta)?(?:\/|$)/.test(deployment.apiBase) || warnedDeployments.has(deployment)) return;
  warnedDeployments.add(deployment);
  log.warn('an upstream has no such path, and its api_base does not end with /v1: is /v1 missing?', {
    deployment: deployment.id,
    apiBase: shownApiBase(deployment),
  });
}
