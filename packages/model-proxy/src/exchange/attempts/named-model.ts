/** Finds the model of requests that have no `model`, or that continue an earlier response. */
import type { Endpoint } from '../../endpoints/endpoint.js';
import { decodeResponseId, PREVIOUS_RESPONSE } from '../../providers/response-id.js';
import type { Router } from '../../routing/router.js';
import type { ProxySettings } from '../../settings.js';
import type { RequestBody } from '../request/request-body.js';

/**
 * Returns the public name for a request without `model`: the first name without a wildcard whose `model_info.mode`
 * is that of the endpoint. If there is none, returns OpenAI's default model if the configuration has it.
 * @returns undefined: the endpoint has no default model, or the configuration has no such model.
 */
export function defaultModel(
  { mode, defaultModel: usual }: Endpoint,
  router: Router,
  { deployments }: Pick<ProxySettings, 'deployments'>,
): string | undefined {
  if (usual === null) return undefined;
  const ofMode = deployments.find(({ modelInfo, modelName }) => modelInfo['mode'] === mode && !modelName.includes('*'));
  return ofMode?.modelName ?? [usual, `openai/${usual}`].find((name) => router.candidates(name).length > 0);
}

/**
 * Returns the id of the deployment that made the response of `previous_response_id`, because only its upstream has
 * this response. Returns the model if the body has no such id, if the id does not contain a deployment, or if the
 * deployment does not serve the model.
 */
export function deploymentOfResponse(body: RequestBody, model: string, router: Router): string {
  if (!body.has(PREVIOUS_RESPONSE)) return model;
  const id = decodeResponseId(body.parameter(PREVIOUS_RESPONSE))?.deploymentId;
  const isOfModel = router.candidates(model).some(({ deployment }) => deployment.id === id);
  return id !== undefined && isOfModel && router.candidates(id).length > 0 ? id : model;
}
