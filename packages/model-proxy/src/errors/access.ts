/** Errors of keys and permissions. */
import { ProxyError, quote, requestFault } from './proxy-error.js';

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

/** Reports that `general_settings.allowed_ips` excludes the client; LiteLLM's wording. */
export function addressNotAllowed(address: string): ProxyError {
  return forbidden(`Access forbidden: IP address ${quote(address)} not allowed.`);
}

/** Reports that `general_settings.allowed_routes` excludes the path; LiteLLM's wording. */
export function routeNotAllowed(path: string): ProxyError {
  return forbidden(`Access forbidden: Route ${quote(path)} not allowed`);
}

function forbidden(message: string): ProxyError {
  return new ProxyError({ status: 403, kind: 'authentication', message });
}

/**
 * Reports that `enforce_user_param` is on, but the proxy does not look for `user` in pass-through
 * requests and WebSockets.
 */
export function userParamUncheckable(path: string): ProxyError {
  return requestFault(`${quote(path)} is not served: 'enforce_user_param' cannot be checked there.`, { status: 403 });
}
