/** Checks the members that a request must have. */
import type { Endpoint } from '../../endpoints/endpoint.js';
import { missingParameter, missingUser } from '../../errors/model.js';
import type { ProxySettings } from '../../settings.js';
import type { RequestBody } from './request-body.js';

type Required = Pick<Endpoint, 'requiredParameter'>;

const hasParameter = ({ requiredParameter }: Required, body: RequestBody): boolean =>
  requiredParameter === null || body.has(requiredParameter);

const hasUser = ({ enforceUserParam }: ProxySettings, body: RequestBody): boolean =>
  !enforceUserParam || body.has('user');

/** Returns whether a body has the members that {@link checkRequiredMembers} checks, as far as it has arrived. */
export function hasRequiredMembers(endpoint: Required, body: RequestBody, settings: ProxySettings): boolean {
  return hasParameter(endpoint, body) && hasUser(settings, body);
}

/**
 * Checks the member that the endpoint requires, and `user` if `enforce_user_param` requires it.
 * @throws {ProxyError} 400: a member is missing.
 */
export function checkRequiredMembers(endpoint: Endpoint, body: RequestBody, settings: ProxySettings): void {
  const { path, requiredParameter } = endpoint;
  if (requiredParameter !== null && !hasParameter(endpoint, body)) throw missingParameter(path, requiredParameter);
  if (!hasUser(settings, body)) throw missingUser();
}
