/** Stores the roles that clients create, in addition to the predefined ones. */
import type { StateFile } from '../state-file.js';
import type { AccessState } from './access-state.js';
import { rolesOf } from './account-list.js';
import { AccountError } from './accounts.js';
import type { Awaitable } from '../redfish/resource.js';
import type { Privilege } from '../redfish/privileges.js';
import type { Role } from './roles.js';

/**
 * The predefined roles and the roles that clients created. With a shared store, a change throws {@link
 * StoreUnavailable} instead of a StateFileError.
 */
export interface Roles {
  /** Lists all roles, predefined ones first; the array is never mutated. */
  list(): readonly Role[];
  /**
   * Creates a role.
   * @throws {AccountError} if a role has the same name, ignoring case; StateFileError.
   */
  create(id: string, privileges: readonly Privilege[]): Awaitable<void>;
  /**
   * Changes a role that is not predefined.
   * @throws StateFileError.
   */
  change(id: string, privileges: readonly Privilege[]): Awaitable<void>;
  /**
   * Removes a role that is not predefined.
   * @throws {AccountError} if an account has the role; StateFileError.
   */
  remove(id: string): Awaitable<void>;
}

/**
 * Creates the roles of a service.
 * @param isAccount whether a user exists. The state file also has the roles of users that are no
 *   longer in the password file. Such a user does not prevent the removal of a role.
 */
export function createRoles(state: StateFile<AccessState>, isAccount: (user: string) => boolean): Roles {
  // Returns the same list while nothing changes, because the cache of rendered resources depends on it.
  let current = { stored: state.state.roles, list: rolesOf(state.state) };
  return {
    list() {
      if (current.stored !== state.state.roles) current = { stored: state.state.roles, list: rolesOf(state.state) };
      return current.list;
    },
    create(id, privileges) {
      state.update((old) => {
        // Rejects names that differ only in case, because people confuse them.
        const same = rolesOf(old).find((role) => role.id.toLowerCase() === id.toLowerCase());
        if (same !== undefined) throw new AccountError('exists', `there is a role ${same.id} already`);
        return { ...old, roles: [...old.roles, { id, privileges }] };
      });
    },
    change(id, privileges) {
      state.update((old) => ({
        ...old,
        roles: old.roles.map((role) => (role.id === id ? { ...role, privileges } : role)),
      }));
    },
    remove(id) {
      state.update((old) => {
        const holder = old.accounts.find(({ user, roleId }) => roleId === id && isAccount(user));
        if (holder !== undefined) throw new AccountError('roleInUse', `${holder.user} has the role ${id}`);
        return { ...old, roles: old.roles.filter((role) => role.id !== id) };
      });
    },
  };
}
