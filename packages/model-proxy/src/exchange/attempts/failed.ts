/** Deployments at which a request has failed. The proxy may try some of them again after a wait. */
import type { ProxyError } from '../../errors/proxy-error.js';
import type { DeploymentHealth } from '../../routing/deployment-health.js';
import type { Selection } from '../../routing/router.js';

/** A deployment at which the request failed, or to which the proxy could not send the request. */
export interface Failed {
  readonly selection: Selection;
  /** Whether the proxy may send the request to this deployment again. False also if it was never sent there. */
  readonly isRepeatable: boolean;
  /** The upstream's Retry-After in milliseconds; null: none. */
  readonly afterMs: number | null;
  /** null: the request was not sent. */
  readonly error: ProxyError | null;
}

/** The last error of a model group: the error of an attempt, or the reason why no deployment got the request. */
export interface LastError {
  readonly error: ProxyError;
  /** Headers of the upstream's answer; null: the error is not an answer of the upstream. */
  readonly upstream: readonly string[] | null;
  readonly selection: Selection | null;
}

/**
 * Returns the deployment with the shortest Retry-After; a deployment without Retry-After counts as 0. Ignores
 * deployments that cool down, and deployments that are not repeatable.
 * @returns undefined: there is no such deployment.
 */
export function firstToRetry(all: Iterable<Failed>, health: Pick<DeploymentHealth, 'coolingMs'>): Failed | undefined {
  let first: Failed | undefined;
  for (const failed of all) {
    const isPossible = failed.isRepeatable && health.coolingMs(failed.selection.deployment.id) === 0;
    if (isPossible && (first === undefined || (failed.afterMs ?? 0) < (first.afterMs ?? 0))) first = failed;
  }
  return first;
}
