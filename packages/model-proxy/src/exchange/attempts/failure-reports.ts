/** Reports failed attempts: to the health of their deployments, and to the metrics. */
import type { ErrorKind, ProxyError } from '../../errors/proxy-error.js';
import { retryAfterOf } from '../../routing/retry-plan.js';
import type { Selection } from '../../routing/router.js';
import { isUpstreamFault } from '../../series.js';
import type { Exchange } from '../exchange.js';

/** Reports a failure of an upstream to the health of its deployment, unless the client's timeout may be the cause. */
export function blame(
  { proxy, clientTimeouts }: Exchange,
  model: string,
  { deployment }: Selection,
  { failure, kind, headers }: ProxyError,
): void {
  // A client may set a timeout that is too short for any deployment.
  if (failure === null || (kind === 'timeout' && clientTimeouts !== null)) return;
  proxy.health.countFailure(deployment.id, {
    failure,
    retryAfterMs: retryAfterOf(headers, Date.now()),
    hasSiblings: proxy.router.candidates(model).length > 1,
    settings: proxy.settings.cooldown,
    ownCooldownMs: deployment.cooldownMs,
  });
}

/** Ends the span of an attempt that failed at its upstream, and stores the attempt for the metrics. */
export function noteAttempt(exchange: Exchange, { status, kind, failure }: ProxyError): void {
  if (exchange.selection === null || failure === null) return;
  exchange.span?.failAttempt(status, kind);
  storeAttempt(exchange, exchange.selection, status, kind);
}

/**
 * Reports a failed attempt to the health of its deployment. The caller calls it if no other attempt can follow. Stores
 * the attempt for the metrics, with the status that the client gets, unless this proxy or the client caused the error.
 * The span of this attempt ends with the request, because the span also reports the usage.
 */
export function noteBreak(exchange: Exchange, model: string, error: ProxyError): void {
  const { selection, response } = exchange;
  if (selection === null) return;
  blame(exchange, model, selection, error);
  if (!isUpstreamFault(error.kind)) return;
  storeAttempt(exchange, selection, response.headersSent ? response.statusCode : error.status, error.kind);
}

function storeAttempt(exchange: Exchange, { deployment }: Selection, status: number, errorKind: ErrorKind): void {
  const { modelName: modelGroup, id: modelId } = deployment;
  exchange.failedAttempts = [...exchange.failedAttempts, { modelGroup, modelId, status, errorKind }];
}
