/** Reports failed attempts: to the health of their deployments, and to the metrics. */
import type { ProxyError } from '../../errors/proxy-error.js';
import { retryAfterOf } from '../../routing/retry-plan.js';
import type { Selection } from '../../routing/router.js';
import type { Exchange } from '../exchange.js';

/** Reports a failure to the health of its deployment, unless the client caused it. */
export function blame(
  { proxy, clientTimeouts }: Exchange,
  model: string,
  { deployment }: Selection,
  { failure, kind, headers }: ProxyError,
): void {
  // A client may ask for a timeout that is too short for any deployment.
  if (failure === null || (kind === 'timeout' && clientTimeouts !== null)) return;
  proxy.health.failed(deployment.id, {
    failure,
    retryAfterMs: retryAfterOf(headers, Date.now()),
    hasSiblings: proxy.router.candidates(model).length > 1,
    settings: proxy.settings.cooldown,
    ownCooldownMs: deployment.cooldownMs,
  });
}

/** Stores a failed attempt for the metrics. */
export function noteAttempt(exchange: Exchange, { status, kind, failure }: ProxyError): void {
  const { selection } = exchange;
  if (selection === null || failure === null) return;
  const { modelName: modelGroup, id: modelId } = selection.deployment;
  exchange.span?.failAttempt(status, kind);
  exchange.failedAttempts = [...exchange.failedAttempts, { modelGroup, modelId, status, errorKind: kind }];
}
