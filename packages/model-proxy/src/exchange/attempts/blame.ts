/** Counts failures of attempts against their deployments. */
import { allCoolingDown } from '../../errors/model.js';
import type { ProxyError } from '../../errors/proxy-error.js';
import { retryAfterOf } from '../../routing/retry-plan.js';
import type { Selection } from '../../routing/router.js';
import type { Exchange, SharedState } from '../exchange.js';

/** Counts a failure against its deployment, unless the client caused it. */
export function blame(
  { serving, clientTimeouts }: Exchange,
  model: string,
  { deployment }: Selection,
  { failure, kind, headers }: ProxyError,
): void {
  // A client may ask for a timeout that no deployment can keep.
  if (failure === null || (kind === 'timeout' && clientTimeouts !== null)) return;
  serving.health.failed(deployment.id, {
    failure,
    retryAfterMs: retryAfterOf(headers, Date.now()),
    hasSiblings: serving.router.candidates(model).length > 1,
    settings: serving.settings.cooldown,
    ownCooldownMs: deployment.cooldownMs,
  });
}

/** Makes the error for a model whose deployments all cool down. */
export function coolingError({ router, health }: Pick<SharedState, 'router' | 'health'>, model: string): ProxyError {
  const ids = router.candidates(model).map(({ deployment }) => deployment.id);
  const coolingMs = Math.min(...ids.map((id) => health.coolingMs(id)));
  return allCoolingDown(model, ids, Math.max(1, Math.ceil(coolingMs / 1000)));
}

/** Stores a failed attempt for the metrics. */
export function noteAttempt(exchange: Exchange, { status, kind, failure }: ProxyError): void {
  const { selection } = exchange;
  if (selection === null || failure === null) return;
  const { modelName: modelGroup, id: modelId } = selection.deployment;
  exchange.failedAttempts = [...exchange.failedAttempts, { modelGroup, modelId, status, errorKind: kind }];
}
