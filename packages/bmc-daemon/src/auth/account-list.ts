/**
 * Combines the password file and the state file into the list of accounts. The password file has the users and
 * hashes. The state file has roles, locks, and whether an account is enabled or must change its password. With a
 * shared store, an entry of the store replaces both files.
 */
import type { HtpasswdEntry } from '../password-file/htpasswd.js';
import type { PasswordFile } from '../password-file/password-file.js';
import type { Authenticated } from '../redfish/authenticate.js';
import type { Privilege } from '../redfish/privileges.js';
import type { StateFile } from '../state-file.js';
import { defaultState, type AccessState } from './access-state.js';
import { administrator, predefinedRoles, type Role } from './roles.js';

/** The current state of an account; never mutated. */
export interface Account {
  readonly user: string;
  /** The hash of the password. A new hash means a new password. */
  readonly hash: string;
  readonly roleId: string;
  readonly enabled: boolean;
  readonly locked: boolean;
  readonly passwordChangeRequired: boolean;
  /** The identity of a request with this user name and password; its `session` is null. */
  readonly identity: Authenticated;
}

/** The accounts of one version of the files. */
interface Listing {
  readonly entries: ReadonlyMap<string, HtpasswdEntry>;
  readonly state: AccessState;
  readonly byUser: ReadonlyMap<string, Account>;
  readonly list: readonly Account[];
  /** End of the first temporary lock; Infinity: there is none. */
  readonly validUntil: number;
}

interface AccountListOptions {
  readonly passwordFile: Pick<PasswordFile, 'entries'>;
  readonly state: Pick<StateFile<AccessState>, 'state'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

const selfOnly: ReadonlySet<Privilege> = new Set(['ConfigureSelf']);
const noPrivileges: ReadonlySet<Privilege> = new Set();

/** The list of accounts, cached until a file changes or a temporary lock ends. */
export class AccountList {
  readonly #options: AccountListOptions;
  #listing: Listing | undefined;

  constructor(options: AccountListOptions) {
    this.#options = options;
  }

  /** Returns all accounts; the same array until something changes. */
  all(): readonly Account[] {
    return this.#current().list;
  }

  /** Returns the account of a user; undefined if there is none. */
  find(user: string): Account | undefined {
    return this.#current().byUser.get(user);
  }

  #current(): Listing {
    const { passwordFile, state, clock } = this.#options;
    const entries = passwordFile.entries();
    const cached = this.#listing;
    if (cached?.entries === entries && cached.state === state.state) {
      if (cached.validUntil === Infinity || clock() < cached.validUntil) return cached;
    }
    return (this.#listing = makeListing(entries, state.state, clock()));
  }
}

/** Returns all roles, predefined ones first. */
export function rolesOf({ roles }: Pick<AccessState, 'roles'>): readonly Role[] {
  return [...predefinedRoles, ...roles.map((role) => ({ ...role, predefined: false }))];
}

/** Returns whether the account is an enabled administrator. It may be locked. */
export function isAdministrator({ enabled, roleId }: Pick<Account, 'enabled' | 'roleId'>): boolean {
  return enabled && roleId === administrator;
}

function makeListing(entries: ReadonlyMap<string, HtpasswdEntry>, state: AccessState, time: number): Listing {
  const stored = new Map(state.accounts.map((account) => [account.user, account]));
  const privileges = new Map(rolesOf(state).map((role) => [role.id, new Set(role.privileges)]));
  let validUntil = Infinity;
  const list = [...entries.values()].map(({ user, hash }): Account => {
    const { roleId, enabled, passwordChangeRequired, lockedUntil } = stored.get(user) ?? defaultState(user);
    // Null: the account is locked until an administrator unlocks it.
    const locked = lockedUntil === null || (lockedUntil !== undefined && time < lockedUntil);
    if (locked && lockedUntil !== null) validUntil = Math.min(validUntil, lockedUntil);
    // A role that does not exist gives no privileges.
    const granted = passwordChangeRequired ? selfOnly : (privileges.get(roleId) ?? noPrivileges);
    const identity = { user, roleId, privileges: granted, session: null, passwordChangeRequired };
    return { user, hash, roleId, enabled, locked, passwordChangeRequired, identity };
  });
  return { entries, state, byUser: new Map(list.map((account) => [account.user, account])), list, validUntil };
}
