/** Checks the members that a request must have. */
import type { Endpoint } from '../../endpoints/endpoint.js';
import { missingParameter, missingUser } from '../../errors/model.js';
import type { ProxySettings } from '../../settings.js';
import type { RequestBody } from './request-body.js';

/**
 * Checks the member that the endpoint requires, and `user` if `enforce_user_param` requires it.
 * @throws {ProxyError} 400: a member is missing.
 */
export function checkRequiredMembers(
  { path, requiredParameter }: Endpoint,
  body: RequestBody,
  { enforceUserParam }: ProxySettings,
): void {
  if (requiredParameter !== null && !body.has(requiredParameter)) throw missingParameter(path, requiredParameter);
  if (enforceUserParam && !body.has('user')) throw missingUser();
}

/**
 * Returns whether a form cannot be sent yet, because the request needs `user`, which may still arrive. So a client may
 * send `user` after `model`.
 */
export function awaitsUser(body: RequestBody, { enforceUserParam }: ProxySettings): boolean {
  return enforceUserParam && !body.has('user');
}
