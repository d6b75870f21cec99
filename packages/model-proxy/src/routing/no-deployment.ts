/** Explains to a client why its model has no deployment. */
import { unknownModel, unservedModel } from '../errors/model.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { ProxySettings } from '../settings.js';
import type { Router } from './router.js';

/** The configuration in use. */
interface ModelLookup {
  readonly settings: Pick<ProxySettings, 'unserved'>;
  readonly router: Pick<Router, 'modelNames'>;
}

/**
 * Makes the error for a model without a deployment.
 * @param path below `/v1/`, such as `chat/completions`.
 * @returns an error with status 400.
 */
export function noDeploymentFor(model: string, path: string, { settings, router }: ModelLookup): ProxyError {
  const reason = settings.unserved?.get(model);
  return reason === undefined ? unknownModel(path, model, router.modelNames) : unservedModel(path, model, reason);
}
