/** Translates failures of a cloud into errors of drivers. */
import { DriverError } from '../driver-error.js';
import { CloudError } from './cloud/cloud-error.js';
import type { Rejected } from './compute/compute-api.js';
import { CloudFailure, RejectedCredentials } from './http/cloud-failure.js';

/** Returns the error for clients. The cloud may recover, so every failure of it is `unavailable`. */
export function asDriverError(error: unknown): unknown {
  if (!(error instanceof CloudFailure || error instanceof CloudError || error instanceof RejectedCredentials))
    return error;
  // The place of a setting is for the log only: clients need not know the paths of the host.
  const why = error instanceof CloudFailure ? error.message : 'the cloud does not accept the settings of this service';
  return new DriverError('unavailable', why, { cause: error instanceof CloudFailure ? error.cause : error });
}

/**
 * Returns the error of an action that Nova rejected.
 * @param exists whether the server exists. Nova answers 404 also while it looks for a host.
 */
export function rejection(
  doing: string,
  { status, reason }: Rejected,
  { exists }: { readonly exists: boolean },
): DriverError {
  const message = `${doing}: Nova answers ${reason}`;
  if (status === 404) return new DriverError(exists ? 'unavailable' : 'notFound', message);
  // Nova names the task that runs, which ends soon, or the state, which stays.
  if (status === 409) return new DriverError(reason.includes('task_state') ? 'unavailable' : 'conflict', message);
  // 403: the policy of the cloud, or a quota.
  return new DriverError(status === 403 || status === 501 ? 'unsupported' : 'conflict', message);
}
