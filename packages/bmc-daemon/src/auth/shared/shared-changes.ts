/**
 * Wraps accounts, roles and authentication so that they use the shared store of all replicas. For a
 * service without a shared store, the functions return their argument, or do nothing.
 */
import type { SessionRequest } from '../../offers/logins.js';
import type { Authenticate } from '../../redfish/authenticate.js';
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';
import type { Accounts } from '../accounts.js';
import type { Roles } from '../role-store.js';
import type { SharedAccess } from './shared-access.js';

/** Returns accounts whose changes apply at all replicas. */
export function shareAccounts(accounts: Accounts, shared: SharedAccess | undefined): Accounts {
  if (shared === undefined) return accounts;
  return {
    list: () => accounts.list(),
    find: (user) => accounts.find(user),
    create: (account) => shared.change(() => accounts.create(account)),
    change: (user, change) => shared.change(() => accounts.change(user, change)),
    remove: (user) => shared.change(() => accounts.remove(user)),
    countWrongPassword: (user) => accounts.countWrongPassword(user),
    resetWrongPasswords: (user) => accounts.resetWrongPasswords(user),
  };
}

/** Returns roles whose changes apply at all replicas. */
export function shareRoles(roles: Roles, shared: SharedAccess | undefined): Roles {
  if (shared === undefined) return roles;
  return {
    list: () => roles.list(),
    create: (id, privileges) => shared.change(() => roles.create(id, privileges)),
    change: (id, privileges) => shared.change(() => roles.change(id, privileges)),
    remove: (id) => shared.change(() => roles.remove(id)),
  };
}

/**
 * Returns an `authenticate` that first reads what the other replicas have changed. While the store
 * does not answer, requests with a token fail with 503: the session may have ended. Requests with a
 * user and a password continue with the last known accounts. While this replica cannot read the
 * accounts of another version, all these requests fail with 503.
 */
export function syncBeforeAuthentication(authenticate: Authenticate, shared: SharedAccess | undefined): Authenticate {
  if (shared === undefined) return authenticate;
  return async (request) => {
    const token = request.headers['x-auth-token'];
    const hasToken = token !== undefined && token !== '';
    await (hasToken ? shared.store.sync() : syncIfAvailable(shared));
    if (hasToken || request.headers.authorization !== undefined) shared.checkReadable();
    return authenticate(request);
  };
}

/**
 * Reads what the other replicas have changed, before a login. While the store does not answer, a login
 * for a Redfish session fails, because the session could not be stored. The login of a console uses the
 * last known accounts.
 * @throws {StoreUnavailable} if the store does not answer the login for a Redfish session, or if this version
 *   cannot read the accounts.
 */
export async function syncBeforeLogin(
  { type = 'Redfish' }: SessionRequest,
  shared: SharedAccess | undefined,
): Promise<void> {
  if (shared === undefined) return;
  await (type === 'Redfish' ? shared.store.sync() : syncIfAvailable(shared));
  shared.checkReadable();
}

async function syncIfAvailable({ store }: SharedAccess): Promise<void> {
  try {
    await store.sync();
  } catch (error) {
    if (!(error instanceof StoreUnavailable)) throw error;
  }
}
