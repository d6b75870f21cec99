/** Translates failures of a cloud into errors of drivers. */
import { DriverError } from '../driver-error.js';
import { CloudError } from './cloud/cloud-error.js';
import type { Rejected } from './compute/compute-api.js';
import { CloudFailure, RejectedCredentials } from './http/cloud-failure.js';

/**
 * Returns the error for clients. A failure of the cloud, rejected credentials and wrong settings have the kind
 * `unavailable`, because the cloud may accept a later request. Returns all other errors unchanged.
 */
export function asDriverError(error: unknown): unknown {
  if (!(error instanceof CloudFailure || error instanceof CloudError || error instanceof RejectedCredentials))
    return error;
  // Only the log shows the place of a setting, because clients must not see paths of the host.
  const why = error instanceof CloudFailure ? error.message : 'the cloud does not accept the settings of this service';
  return new DriverError('unavailable', why, { cause: error instanceof CloudFailure ? error.cause : error });
}

/**
 * Returns the error of an action that Nova rejected.
 * @param server.isKnownServer whether the caller knows that the server exists. While Nova selects a
 *   host for such a server, it answers 404 too.
 * @param server.isBuilding whether Nova has not built the server yet. Default: no.
 */
export function rejectionError(
  doing: string,
  { status, reason }: Rejected,
  { isKnownServer, isBuilding = false }: { readonly isKnownServer: boolean; readonly isBuilding?: boolean },
): DriverError {
  const message = `${doing}: Nova answers ${reason}`;
  if (status === 404) return new DriverError(isKnownServer ? 'unavailable' : 'notFound', message);
  // If the reason is a running task of Nova, the client may retry soon. If it is the state, a retry does
  // not help.
  if (status === 409) {
    const isTemporary = isBuilding || reason.includes('task_state');
    return new DriverError(isTemporary ? 'unavailable' : 'conflict', message);
  }
  // 403: a policy of the cloud, or a quota.
  return new DriverError(status === 403 || status === 501 ? 'unsupported' : 'conflict', message);
}
