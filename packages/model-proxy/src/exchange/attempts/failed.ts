/** The deployments that a request cannot use anymore, or only later. */
import type { ProxyError } from '../../errors/proxy-error.js';
import type { DeploymentHealth } from '../../routing/deployment-health.js';
import type { Selection } from '../../routing/router.js';

/** A deployment that has failed the request, or cannot take it. */
export interface Failed {
  readonly selection: Selection;
  /** Whether a later attempt at this deployment may succeed. */
  readonly isRepeatable: boolean;
  /** The upstream's Retry-After in milliseconds; null: none. */
  readonly afterMs: number | null;
  /** null: the request was not sent. */
  readonly error: ProxyError | null;
}

/** The last error of a model group: of an attempt, or the reason why no deployment could take the request. */
export interface LastError {
  readonly error: ProxyError;
  /** Headers of the upstream's answer; null: the error is not an answer of the upstream. */
  readonly upstream: readonly string[] | null;
  readonly selection: Selection | null;
}

/**
 * Returns the deployment that can get the request again after the shortest Retry-After. Ignores deployments that
 * cool down, or at which a later attempt would fail, too.
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
