/** Explains to a client why no deployment can serve its model. */
import { allCoolingDown, unknownModel, unservedModel } from '../errors/model.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { ProxySettings } from '../settings.js';
import type { DeploymentHealth } from './deployment-health.js';
import type { Router } from './router.js';

/**
 * Makes the error for a model without a deployment.
 * @param path below `/v1/`, such as `chat/completions`.
 * @param known the public names that the client may use.
 * @returns an error with status 400.
 */
export function noDeploymentFor(
  model: string,
  path: string,
  { unserved }: Pick<ProxySettings, 'unserved'>,
  known: readonly string[],
): ProxyError {
  const reason = unserved?.get(model);
  return reason === undefined ? unknownModel(path, model, known) : unservedModel(path, model, reason);
}

/** Makes the error for a model whose deployments all cool down. */
export function coolingError(
  router: Pick<Router, 'candidates'>,
  health: Pick<DeploymentHealth, 'coolingMs'>,
  model: string,
): ProxyError {
  const ids = router.candidates(model).map(({ deployment }) => deployment.id);
  const coolingMs = Math.min(...ids.map((id) => health.coolingMs(id)));
  return allCoolingDown(model, ids, Math.max(1, Math.ceil(coolingMs / 1000)));
}
