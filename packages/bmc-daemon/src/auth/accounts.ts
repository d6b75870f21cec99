/**
 * Accounts: the users of the password file, with the roles, locks and flags of the state file. Both
 * files may change at any time: `htpasswd` writes the first, the AccountService both.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import { OperationQueue } from '../drivers/queue/operation-queue.js';
import type { Authenticated } from '../redfish/authenticate.js';
import type { StateFile } from '../state-file.js';
import { defaultState, type AccessState, type AccountState } from './access-state.js';
import { isPassword } from '../password-file/bcrypt-password.js';
import type { HtpasswdEntry } from '../password-file/htpasswd.js';
import { createLockout } from './lockout.js';
import {
  checkUser,
  preparePasswordFile,
  userLine,
  withoutUser,
  withRenamedUser,
  withUserLine,
} from '../password-file/password-file-writer.js';
import type { PasswordFile } from '../password-file/password-file.js';
import type { Privilege } from '../redfish/privileges.js';
import { administrator, predefinedRoles, type Role } from './roles.js';

/** The current state of an account; never mutated. */
export interface Account {
  readonly user: string;
  /** The hash in the password file. A new hash means a new password. */
  readonly hash: string;
  readonly roleId: string;
  readonly enabled: boolean;
  readonly locked: boolean;
  readonly passwordChangeRequired: boolean;
  /** The identity of this account's requests, without a session. */
  readonly identity: Authenticated;
}

interface NewAccount {
  readonly user: string;
  readonly password: string;
  readonly roleId: string;
  readonly enabled: boolean;
  readonly passwordChangeRequired: boolean;
}

/**
 * A change of an account; properties that are not given do not change. A new password resets
 * `passwordChangeRequired` unless the change sets it.
 */
interface AccountChange {
  /** A new name. It ends the account's sessions, which belong to the old name. */
  readonly user?: string;
  readonly password?: string;
  readonly roleId?: string;
  readonly enabled?: boolean;
  /** A client can only unlock; wrong passwords lock an account. */
  readonly locked?: false;
  readonly passwordChangeRequired?: boolean;
}

/**
 * The error for an account or role that cannot be changed. Invalid names and passwords are a
 * CredentialsError; unwritable files have their own errors.
 */
export class AccountError extends Error {
  override readonly name = 'AccountError';
  readonly kind: 'exists' | 'notFound' | 'lastAdministrator' | 'roleUnknown' | 'roleInUse' | 'samePassword';

  constructor(kind: AccountError['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

/** The accounts of the service. Changes are written before they take effect. */
export interface Accounts {
  /** Lists the accounts. Returns the same array until something changes. */
  list(): readonly Account[];
  find(user: string): Account | undefined;
  /**
   * Creates an account.
   * @throws {AccountError}, CredentialsError, PasswordFileWriteError, StateFileError.
   */
  create(account: NewAccount): Promise<void>;
  /** @throws as {@link create}. */
  change(user: string, change: AccountChange): Promise<void>;
  /** @throws as {@link create}. */
  remove(user: string): Promise<void>;
  /** Counts a wrong password, and locks the account at the threshold. */
  passwordWasWrong(user: string): void;
  passwordWasRight(user: string): void;
}

interface AccountsOptions {
  /** The path of the password file. */
  readonly file: string;
  readonly passwordFile: PasswordFile;
  readonly state: StateFile<AccessState>;
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

interface Listing {
  readonly entries: ReadonlyMap<string, HtpasswdEntry>;
  readonly state: AccessState;
  readonly byUser: ReadonlyMap<string, Account>;
  readonly list: readonly Account[];
  /** End of the first temporary lock; Infinity: there is none. */
  readonly validUntil: number;
}

/** Key of the only queue of changes. */
const ONE_QUEUE = '';

const selfOnly: ReadonlySet<Privilege> = new Set(['ConfigureSelf']);
const none: ReadonlySet<Privilege> = new Set();

/** Returns all roles, predefined ones first. */
export function rolesOf({ roles }: Pick<AccessState, 'roles'>): readonly Role[] {
  return [...predefinedRoles, ...roles.map((role) => ({ ...role, predefined: false }))];
}

/** Creates the accounts of a password file. Needs no close. */
export function createAccounts({ file, passwordFile, state, log, clock }: AccountsOptions): Accounts {
  let current: Listing | undefined;
  const lockout = createLockout(state, { log, clock });
  // One change at a time: two concurrent changes could otherwise remove the last two
  // administrators.
  const changes = new OperationQueue();

  const listing = (): Listing => {
    const entries = passwordFile.entries();
    if (
      current?.entries !== entries ||
      current.state !== state.state ||
      (current.validUntil !== Infinity && clock() >= current.validUntil)
    )
      current = makeListing(entries, state.state, clock());
    return current;
  };
  const find = (user: string) => listing().byUser.get(user);

  const need = (user: string): Account => {
    passwordFile.refresh();
    const account = find(user);
    if (account === undefined) throw new AccountError('notFound', `there is no user ${user}`);
    return account;
  };
  const needRole = (roleId: string): void => {
    if (!rolesOf(state.state).some(({ id }) => id === roleId))
      throw new AccountError('roleUnknown', `there is no role ${roleId}`);
  };
  const requireOtherAdministrator = (account: Account, staysAdministrator: boolean): void => {
    if (staysAdministrator || !isAdministrator(account)) return;
    if (listing().list.some((other) => other.user !== account.user && isAdministrator(other))) return;
    throw new AccountError(
      'lastAdministrator',
      `the last enabled ${administrator} cannot be removed, disabled or given another role`,
    );
  };
  const storeAccounts = (accounts: readonly AccountState[]): void => state.update((old) => ({ ...old, accounts }));
  /**
   * Changes both files or none. Writes role and flags before the password, so that a crash in
   * between never leaves a new administrator (a user without stored state is an administrator).
   * Prepares the password file first, so that a full disk fails before any change.
   */
  const write = ({ stored, removeState, edit }: AccountWrite): void => {
    const before = state.state.accounts;
    const prepared = edit === undefined ? undefined : preparePasswordFile(file, edit);
    try {
      if (stored !== undefined) storeAccounts([...before.filter(({ user }) => user !== stored.user), stored]);
    } catch (error) {
      prepared?.discard();
      throw error;
    }
    try {
      prepared?.commit();
    } catch (error) {
      if (stored !== undefined) tryToStore(before, stored.user, 'restoring the stored state of an account failed');
      throw error;
    }
    passwordFile.refresh();
    if (removeState === undefined) return;
    // The account no longer exists, so leftover state grants nothing.
    const others = state.state.accounts.filter(({ user }) => user !== removeState);
    tryToStore(others, removeState, 'deleting the stored state of a removed account failed');
  };
  const tryToStore = (accounts: readonly AccountState[], user: string, complaint: string): void => {
    try {
      storeAccounts(accounts);
    } catch (error) {
      log.error(complaint, { account: user, error });
    }
  };
  const storedOf = (user: string) => state.state.accounts.find((stored) => stored.user === user) ?? defaultState(user);

  return {
    list: () => listing().list,
    find,
    create: ({ password, ...account }) =>
      changes.run(ONE_QUEUE, async () => {
        const { user, roleId } = account;
        const check = () => {
          passwordFile.refresh();
          if (find(user) !== undefined) throw new AccountError('exists', `there is a user ${user} already`);
          needRole(roleId);
        };
        check();
        const line = await userLine(user, password);
        // Check again: accounts may have changed during the hashing. The rest runs without waiting.
        check();
        write({ stored: account, edit: (text) => withUserLine(text, user, line) });
        log.info('account created', { account: user, role: roleId });
      }),
    change: (user, { password, locked, user: newName = user, ...change }) =>
      changes.run(ONE_QUEUE, async () => {
        const old = need(user);
        if (password !== undefined && old.passwordChangeRequired && (await isPassword(Buffer.from(password), old.hash)))
          throw new AccountError('samePassword', 'the new password is the old one');
        if (newName !== user) checkUser(newName);
        const line = password === undefined ? undefined : await userLine(newName, password);
        const account = need(user);
        if (newName !== user && find(newName) !== undefined)
          throw new AccountError('exists', `there is a user ${newName} already`);
        if (change.roleId !== undefined) needRole(change.roleId);
        const { lockedUntil, ...stored } = storedOf(user);
        const next: AccountState = {
          ...stored,
          ...(line === undefined ? {} : { passwordChangeRequired: false }),
          ...change,
          user: newName,
          ...(locked === false || lockedUntil === undefined ? {} : { lockedUntil }),
        };
        requireOtherAdministrator(account, next.enabled && next.roleId === administrator);
        write({ stored: next, ...(newName === user ? {} : { removeState: user }), ...editOf(user, newName, line) });
        // Fails if another process removed the account from the file at the same moment.
        if (newName !== user) need(newName);
        if (locked === false || newName !== user) lockout.forget(user);
        const renamed = newName === user ? {} : { before: user };
        log.info('account changed', { account: newName, ...renamed, role: next.roleId, enabled: next.enabled });
      }),
    remove: (user) =>
      changes.run(ONE_QUEUE, () => {
        requireOtherAdministrator(need(user), false);
        write({ removeState: user, edit: (text) => withoutUser(text, user) });
        lockout.forget(user);
        log.info('account removed', { account: user });
        return Promise.resolve();
      }),
    passwordWasWrong(user) {
      if (find(user) !== undefined) lockout.count(user);
    },
    passwordWasRight: (user) => lockout.forget(user),
  };
}

/** A change of both files. */
interface AccountWrite {
  /** The new state of an account. */
  readonly stored?: AccountState;
  /** The account to remove from the state file afterwards. */
  readonly removeState?: string;
  /** Returns the new text of the password file. */
  readonly edit?: (text: string) => string;
}

/**
 * Returns the edit of the password file, if it needs one.
 * @param line the user's line with a new password.
 */
function editOf(user: string, newName: string, line: string | undefined): Pick<AccountWrite, 'edit'> {
  if (line !== undefined) return { edit: (text) => withUserLine(text, user, line) };
  return newName === user ? {} : { edit: (text) => withRenamedUser(text, user, newName) };
}

function isAdministrator({ enabled, roleId }: Account): boolean {
  return enabled && roleId === administrator;
}

function makeListing(entries: ReadonlyMap<string, HtpasswdEntry>, state: AccessState, time: number): Listing {
  const stored = new Map(state.accounts.map((account) => [account.user, account]));
  const privileges = new Map(rolesOf(state).map((role) => [role.id, new Set(role.privileges)]));
  let validUntil = Infinity;
  const list = [...entries.values()].map(({ user, hash }): Account => {
    const { roleId, enabled, passwordChangeRequired, lockedUntil } = stored.get(user) ?? defaultState(user);
    const locked = lockedUntil === null || (lockedUntil !== undefined && time < lockedUntil);
    if (locked && lockedUntil !== null) validUntil = Math.min(validUntil, lockedUntil);
    // A role that is missing in the state file grants nothing.
    const mayDo = passwordChangeRequired ? selfOnly : (privileges.get(roleId) ?? none);
    const identity = { user, roleId, privileges: mayDo, session: null, passwordChangeRequired };
    return { user, hash, roleId, enabled, locked, passwordChangeRequired, identity };
  });
  return { entries, state, byUser: new Map(list.map((account) => [account.user, account])), list, validUntil };
}
