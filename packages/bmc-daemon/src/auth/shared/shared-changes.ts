/** Requests and changes of accounts with a shared store. Without one, these functions change nothing. */
import type { SessionRequest } from '../../offers/logins.js';
import type { Authenticate } from '../../redfish/authenticate.js';
import { StoreUnavailable } from '../../replicas/store-unavailable.js';
import type { Accounts } from '../accounts.js';
import type { Roles } from '../role-store.js';
import type { SharedAccess } from './shared-access.js';

/** Returns accounts whose changes hold at all replicas. */
export function shareAccounts(accounts: Accounts, shared: SharedAccess | undefined): Accounts {
  if (shared === undefined) return accounts;
  return {
    list: () => accounts.list(),
    find: (user) => accounts.find(user),
    create: (account) => shared.change(() => accounts.create(account)),
    change: (user, change) => shared.change(() => accounts.change(user, change)),
    remove: (user) => shared.change(() => accounts.remove(user)),
    passwordWasWrong: (user) => accounts.passwordWasWrong(user),
    passwordWasRight: (user) => accounts.passwordWasRight(user),
  };
}

/** Returns roles whose changes hold at all replicas. */
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
 * Returns an `authenticate` that first reads what the other replicas have changed. While the store does
 * not answer, requests with a token fail with 503: the session may have ended. Requests with a
 * user and a password continue with the last known accounts.
 */
export function synchronized(authenticate: Authenticate, shared: SharedAccess | undefined): Authenticate {
  if (shared === undefined) return authenticate;
  return async (request) => {
    const token = request.headers['x-auth-token'];
    await syncUnless(token === undefined || token === '', shared);
    return authenticate(request);
  };
}

/** Reads what the other replicas have changed, before a login. A console needs only the last known accounts. */
export async function syncFor({ type = 'Redfish' }: SessionRequest, shared: SharedAccess | undefined): Promise<void> {
  if (shared !== undefined) await syncUnless(type !== 'Redfish', shared);
}

async function syncUnless(isOptional: boolean, { store }: SharedAccess): Promise<void> {
  try {
    await store.sync();
  } catch (error) {
    if (!isOptional || !(error instanceof StoreUnavailable)) throw error;
  }
}
