/** The roles that administrators make, beside the predefined ones. */
import type { StateFile } from '../state-file.js';
import type { AccessState } from './access-state.js';
import { AccountError, rolesOf } from './accounts.js';
import type { Privilege } from './privileges.js';
import type { Role } from './roles.js';

export interface Roles {
  /** Predefined ones first; never mutated. */
  list(): readonly Role[];
  /** @throws {AccountError} where there is one of that name, or StateFileError. */
  create(id: string, privileges: readonly Privilege[]): void;
  /** Of a role that is not predefined. @throws StateFileError. */
  change(id: string, privileges: readonly Privilege[]): void;
  /** Of a role that is not predefined. @throws {AccountError} where an account has it, or StateFileError. */
  remove(id: string): void;
}

/**
 * The roles of a service.
 * @param isAccount whether there is such a user; of one who left the password file, the role is remembered all the same.
 */
export function createRoles(state: StateFile<AccessState>, isAccount: (user: string) => boolean): Roles {
  // Rendered resources are kept for as long as what they were made from stays the same object.
  let current = { of: state.state.roles, list: rolesOf(state.state) };
  return {
    list() {
      if (current.of !== state.state.roles) current = { of: state.state.roles, list: rolesOf(state.state) };
      return current.list;
    },
    create(id, privileges) {
      state.update((old) => {
        // Names that differ in case alone would be mistaken for each other.
        const same = rolesOf(old).find((role) => role.id.toLowerCase() === id.toLowerCase());
        if (same !== undefined) throw new AccountError('exists', `there is a role ${same.id} already`);
        return { ...old, roles: [...old.roles, { id, privileges }] };
      });
    },
    change(id, privileges) {
      state.update((old) => ({
        ...old,
        roles: old.roles.map((role) => (role.id === id ? { id, privileges } : role)),
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
