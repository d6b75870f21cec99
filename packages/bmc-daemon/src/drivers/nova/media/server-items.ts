/**
 * Calls of Nova's API for the metadata of a server. They exist in all API versions.
 * @see https://docs.openstack.org/api-ref/compute/
 */
import type { CloudSession } from '../http/session.js';
import { DriverError } from '../../driver-error.js';
import { rejectionError } from '../failure.js';

/**
 * The calls. All methods throw as {@link CloudSession.request}, and throw a {@link DriverError} if
 * Nova rejects the request.
 */
export interface ServerItems {
  /**
   * Sets or removes a metadata item.
   * @param value null removes it.
   * @returns false if the state of the server does not allow a change, such as rescue mode or ERROR.
   *   True also if the item to remove, or its server, is gone.
   */
  setMetadata(id: string, key: string, value: string | null): Promise<boolean>;
}

/** Creates the calls of a session. */
export function createServerItems(session: CloudSession): ServerItems {
  const serverPath = (id: string): string => `/servers/${encodeURIComponent(id)}`;
  return {
    setMetadata: async (id, key, value) => {
      const path = `${serverPath(id)}/metadata/${encodeURIComponent(key)}`;
      const answer = await session.request(
        value === null ? { method: 'DELETE', path } : { method: 'PUT', path, body: { meta: { [key]: value } } },
      );
      if (answer.status < 300) return true;
      const rejected = { status: answer.status, reason: session.reason(answer) };
      // The item or the server is gone already.
      if (answer.status === 404 && value === null) return true;
      if (answer.status === 409 && rejected.reason.includes('vm_state')) return false;
      // Nova's message is "Maximum number of metadata items exceeds 128".
      if (answer.status === 403 && rejected.reason.includes('metadata items')) {
        throw new DriverError('storageFull', `storing the state of server ${id}: Nova answers ${rejected.reason}`);
      }
      throw rejectionError(`storing the state of server ${id}`, rejected, { isKnownServer: false });
    },
  };
}
