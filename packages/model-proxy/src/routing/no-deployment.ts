/** Explains to a client why its model has no deployment. */
import { unknownModel, unservedModel } from '../errors/model.js';
import type { ProxyError } from '../errors/proxy-error.js';
import type { ProxySettings } from '../settings.js';

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
