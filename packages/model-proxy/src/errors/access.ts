/** Errors of keys, permissions and limits. */
import { ProxyError, requestFault, shortened } from './proxy-error.js';

/** RFC 9110 §11.6.1: a 401 must name a scheme. */
const challenge = { 'www-authenticate': 'Bearer' };

/** Reports that the request has no key; LiteLLM's wording. */
export function noKeyPassed(): ProxyError {
  return new ProxyError({
    status: 401,
    kind: 'authentication',
    type: 'auth_error',
    message: 'Authentication Error, No api key passed in.',
    headers: challenge,
  });
}

/** Reports that the key is wrong; LiteLLM's wording. The text does not show the key. */
export function wrongKeyPassed(): ProxyError {
  return new ProxyError({
    status: 401,
    kind: 'authentication',
    type: 'token_not_found_in_db',
    param: 'key',
    message: 'Authentication Error, Invalid proxy server token passed.',
    headers: challenge,
  });
}

/** Reports that the key has expired; LiteLLM's wording. @param expiresAt milliseconds since 1970, as `now`. */
export function expiredKey(expiresAt: number, now: number): ProxyError {
  return new ProxyError({
    status: 401,
    kind: 'authentication',
    type: 'expired_key',
    message: `Authentication Error - Expired Key. Key Expiry time ${pythonTime(expiresAt)} and current time ${pythonTime(now)}`,
    headers: challenge,
  });
}

const pythonTime = (ms: number) => new Date(ms).toISOString().replace('T', ' ').replace('Z', '+00:00');

/** Reports that an administrator has blocked the key; LiteLLM's wording. */
export function blockedKey(): ProxyError {
  return new ProxyError({
    status: 401,
    kind: 'authentication',
    type: 'auth_error',
    message: "Authentication Error, Key is blocked. Update via `/key/unblock` if you're an admin.",
    headers: challenge,
  });
}

/** Reports that the path needs the master key; LiteLLM's wording. */
export function adminOnly(path: string): ProxyError {
  return new ProxyError({
    status: 401,
    kind: 'authentication',
    type: 'auth_error',
    message:
      'Authentication Error, Only proxy admin can be used to generate, delete, update info for new keys/users/teams. ' +
      `Route=${shortened(path)}. Your role=unknown. Your user_id=unknown`,
    headers: challenge,
  });
}

/**
 * Reports that the key may not request the path; LiteLLM's wording if the key has a list of paths.
 * @param allowed empty: the key has no list, and may request all paths of models and information.
 */
export function pathNotAllowed(path: string, allowed: readonly string[]): ProxyError {
  if (allowed.length === 0)
    return forbidden(
      `Virtual key is not allowed to call this route: ${shortened(path)}. Use the master key, or a key whose allowed_routes contain the route.`,
    );
  const list = `[${allowed.map((route) => `'${route}'`).join(', ')}]`;
  return forbidden(
    `Virtual key is not allowed to call this route. Only allowed to call routes: ${shortened(list)}. Tried to call route: ${shortened(path)}`,
  );
}

/** Reports that the key may not use the model; LiteLLM's wording. */
export function modelNotAllowed(model: string): ProxyError {
  return new ProxyError({
    status: 403,
    kind: 'authentication',
    type: 'key_model_access_denied',
    param: 'model',
    message:
      `The requested model '${shortened(model)}' is not available for this API key, or the model name is invalid. ` +
      'Check the models available to you and try again.',
  });
}

/** Reports that the model of a request is not known, so the proxy cannot compare it with the models of the key. */
export function modelUnchecked(path: string): ProxyError {
  return forbidden(
    `This API key can only use some models, and the model of a request to ${shortened(path)} is not known. ` +
      'Use a key without a list of models.',
  );
}

/** Reports that a parameter of the request can select models that the proxy does not compare with those of the key. */
export function modelParameterNotAllowed(parameter: string): ProxyError {
  return forbidden(
    `This API key can only use some models, and '${parameter}' can select others. ` +
      `Remove '${parameter}', or use a key without a list of models.`,
  );
}

/**
 * Reports that the key has spent its budget; LiteLLM's wording.
 * @param key the alias and the shortened key, which the client sees.
 * @param retryAfterSeconds time until the next period; null: there is none.
 */
export function budgetExceeded(
  key: string,
  { spend, maxBudget, retryAfterSeconds }: { spend: number; maxBudget: number; retryAfterSeconds: number | null },
): ProxyError {
  return new ProxyError({
    status: 429,
    kind: 'request',
    type: 'budget_exceeded',
    message: `Budget has been exceeded! Key=${key} Current cost: ${spend}, Max budget: ${maxBudget}`,
    // OpenAI's SDKs would otherwise repeat the request at once.
    headers: {
      'x-should-retry': 'false',
      ...(retryAfterSeconds === null ? {} : { 'retry-after': String(retryAfterSeconds) }),
    },
  });
}

/** The unit that a limit of a key counts, by LiteLLM's name. */
export type LimitType = 'requests' | 'tokens' | 'max_parallel_requests';

/** Reports that the key is at a limit; LiteLLM's wording. @param resetAt milliseconds since 1970. */
export function keyLimited(
  digest: string,
  {
    type,
    limit,
    resetAt,
    retryAfterSeconds,
  }: { type: LimitType; limit: number; resetAt: number; retryAfterSeconds: number },
): ProxyError {
  const reset = `${new Date(resetAt).toISOString().replace('T', ' ').slice(0, 19)} UTC`;
  return new ProxyError({
    status: 429,
    kind: 'request',
    message:
      `Rate limit exceeded for api_key: ${digest}. Limit type: ${type}. ` +
      `Current limit: ${limit}, Remaining: 0. Limit resets at: ${reset}`,
    headers: { 'retry-after': String(retryAfterSeconds), rate_limit_type: type, reset_at: reset },
  });
}

/** Reports that `general_settings.allowed_ips` excludes the client; LiteLLM's wording. */
export function addressNotAllowed(address: string): ProxyError {
  return forbidden(`Access forbidden: IP address ${shortened(address)} not allowed.`);
}

/** Reports that `general_settings.allowed_routes` excludes the path; LiteLLM's wording. */
export function routeNotAllowed(path: string): ProxyError {
  return forbidden(`Access forbidden: Route ${shortened(path)} not allowed`);
}

function forbidden(message: string): ProxyError {
  return new ProxyError({ status: 403, kind: 'authentication', message });
}

/**
 * Reports that `enforce_user_param` is on, so the proxy rejects raw requests and WebSockets, in which it does not
 * look for `user`.
 */
export function userParamUncheckable(path: string): ProxyError {
  return requestFault(`${shortened(path)} is not served: 'enforce_user_param' cannot be checked there.`, {
    status: 403,
  });
}

/** Reports that `general_settings.global_max_parallel_requests` is reached; LiteLLM's wording. */
export function tooManyParallel(limit: number, running: number): ProxyError {
  return new ProxyError({
    status: 429,
    kind: 'request',
    message: `Max parallel request limit reached Hit Global Limit: Limit=${limit}, current: ${running}`,
    headers: { 'retry-after': '1' },
  });
}

/** Reports that the process is at its limit of requests, and the queue is full or has timed out; LiteLLM's wording. */
export function overloaded(running: number, waiting: number): ProxyError {
  return new ProxyError({
    status: 503,
    type: 'overloaded_error',
    kind: 'unavailable',
    message: `Worker at capacity: ${running} in-flight, ${waiting} queued requests. Retry later.`,
    headers: { 'retry-after': '1' },
  });
}
