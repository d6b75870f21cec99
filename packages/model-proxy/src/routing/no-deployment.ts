/** What a client is told whose model leads nowhere. */
import { unknownModel, unservedModel, type ProxyError } from '../errors.js';
import type { ProxySettings } from '../settings.js';
import type { Router } from './router.js';

export interface Known {
  readonly settings: Pick<ProxySettings, 'unserved'>;
  readonly router: Pick<Router, 'modelNames'>;
}

/** Why the router has no deployment for a model. @param path below `/v1/`: `chat/completions`. @returns 400. */
export function noDeploymentFor(model: string, path: string, { settings, router }: Known): ProxyError {
  const reason = settings.unserved?.get(model);
  return reason === undefined ? unknownModel(path, model, router.modelNames) : unservedModel(path, model, reason);
}
