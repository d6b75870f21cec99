/** Errors of models and parameters. */
import { ProxyError, requestFault, shortened } from './proxy-error.js';

/** Maximum number of model names or deployment ids in an error. `/v1/models` lists all names. */
const MAX_LISTED = 50;

/** Reports that the request names no model. @param path below `/v1/`: `chat/completions`. */
export function missingModel(path: string, known: readonly string[]): ProxyError {
  return invalidModel(path, 'None', known);
}

/** Reports that there is no such model. @param model the requested name. */
export function unknownModel(path: string, model: string, known: readonly string[]): ProxyError {
  return invalidModel(path, shortened(model), known);
}

/**
 * Reports that the model is configured but cannot be served.
 * @param reason the reason in `ProxySettings.unserved`.
 */
export function unservedModel(path: string, model: string, reason: string): ProxyError {
  return requestFault(
    `/${path}: Invalid model name passed in model=${shortened(model)}. It is configured, but ${reason}.`,
    {
      param: 'model',
    },
  );
}

/** Makes LiteLLM's sentence, which clients search for, and adds the list of models. */
function invalidModel(path: string, shown: string, known: readonly string[]): ProxyError {
  const more = known.length > MAX_LISTED ? ` and ${known.length - MAX_LISTED} more` : '';
  const names = known.length === 0 ? 'none' : `${known.slice(0, MAX_LISTED).join(', ')}${more}`;
  return requestFault(
    `/${path}: Invalid model name passed in model=${shown}. Call \`/v1/models\` to view available models for your key. ` +
      `Known models: ${names}.`,
    { param: 'model' },
  );
}

/** Reports that `model` is not a string. */
export function modelNotText(path: string): ProxyError {
  return requestFault(`/${path}: Invalid type for 'model': expected a string.`, { param: 'model' });
}

/** Reports that a required parameter is missing. @param name for example `messages`. */
export function missingParameter(path: string, name: string): ProxyError {
  return requestFault(`/${path}: Missing required parameter: '${name}'.`, { param: name });
}

/**
 * Reports that a parameter that this proxy evaluates is invalid.
 * @param why for example `is too long`.
 */
export function invalidParameter(name: string, why: string): ProxyError {
  return requestFault(`Invalid request: '${name}' ${why}.`, { param: name });
}

/**
 * Reports that the provider does not support parameters, and `drop_params` is off. The text is
 * LiteLLM's, because clients and users search for it.
 * @param names in the order of the request.
 */
export function unsupportedParameters(names: readonly string[], provider: string, upstreamModel: string): ProxyError {
  // Formatted as Python prints a list.
  const list = `[${names.map((name) => `'${name}'`).join(', ')}]`;
  return requestFault(
    `litellm.UnsupportedParamsError: ${provider} does not support parameters: ${list}, for model=${upstreamModel}. ` +
      'To drop these, set `litellm.drop_params=True` or for proxy:\n\n`litellm_settings:\n drop_params: true`\n. ' +
      `\n If you want to use these params dynamically send allowed_openai_params=${list} in your request.`,
    { param: names[0] ?? null },
  );
}

/** Reports that the provider's API has no such endpoint. @param path below `/v1/`: `embeddings`. */
export function unsupportedEndpoint(path: string, provider: string): ProxyError {
  return requestFault(`/${path}: the provider '${provider}' does not have this endpoint.`, { param: 'model' });
}

/** Reports that `/v1/models/{id}` has no such model; OpenAI's wording. */
export function modelNotFound(model: string): ProxyError {
  return requestFault(`The model '${shortened(model)}' does not exist.`, {
    status: 404,
    param: 'model',
    code: 'model_not_found',
  });
}

/** Reports tags in a request although `reject_clientside_metadata_tags` is on; LiteLLM's wording. */
export function clientTagsForbidden(): ProxyError {
  return requestFault(
    "Client-side 'metadata.tags' not allowed in request. 'reject_clientside_metadata_tags'=True. Tags can only be set via API key metadata.",
    { type: 'bad_request_error', param: 'metadata.tags' },
  );
}

/** Reports that `general_settings.enforce_user_param` requires `user`; LiteLLM's wording. */
export function missingUser(): ProxyError {
  return requestFault("'user' param not passed in. 'enforce_user_param'=True", { param: 'user' });
}

/**
 * Reports that a deployment has reached a limit of this minute. A model request ends with this error only if no
 * other deployment of the group, and no fallback, can take it. A raw request ends with it at once.
 * @param what `RPM` or `TPM`.
 */
export function deploymentLimited(what: string, limit: number, retryAfterSeconds: number): ProxyError {
  return requestFault(
    `litellm.RateLimitError: Model rate limit exceeded. ${what} limit=${limit}. Try again in ${retryAfterSeconds} seconds.`,
    { status: 429, failure: 'rateLimit', headers: { 'retry-after': String(retryAfterSeconds) } },
  );
}

/** Reports that a deployment runs as many requests as it may; LiteLLM's wording. */
export function deploymentBusy(limit: number): ProxyError {
  return requestFault(
    `litellm.RateLimitError: Deployment has all max_parallel_requests slots in use. Limit=${limit}.`,
    { status: 429, failure: 'rateLimit', headers: { 'retry-after': '1' } },
  );
}

/**
 * Makes the error for a group whose deployments all cool down after failures. The text is LiteLLM's,
 * because clients search for it.
 * @param ids those of the deployments.
 */
export function allCoolingDown(model: string, ids: readonly string[], retryAfterSeconds: number): ProxyError {
  const list = ids.slice(0, MAX_LISTED).map((id) => `'${id}'`);
  return new ProxyError({
    status: 429,
    kind: 'unavailable',
    failure: 'rateLimit',
    message:
      `No deployments available for selected model, Try again in ${retryAfterSeconds} seconds. ` +
      'All deployments for selected model are in cooldown. ' +
      `Passed model=${shortened(model)}. pre-call-checks=False, cooldown_list=[${list.join(', ')}]`,
    headers: { 'retry-after': String(retryAfterSeconds) },
  });
}
