/**
 * Who may come in and what they may do: the users of the password file, with the roles, locks and flags that the state file
 * keeps of them. Both may change at any time, the one by `htpasswd`, the other through the AccountService.
 */
import type { Log } from '@rackless/daemon/log.js';
import { OperationQueue } from '../drivers/operation-queue.js';
import type { Authenticated } from '../redfish/authenticate.js';
import type { StateFile } from '../state-file.js';
import { unlisted, type AccessState, type AccountState } from './access-state.js';
import { isPassword } from './bcrypt-password.js';
import type { HtpasswdEntry } from './htpasswd.js';
import { createLockout } from './lockout.js';
import {
  checkUser,
  preparePasswordFile,
  userLine,
  withoutUser,
  withRenamedUser,
  withUserLine,
} from './password-file-writer.js';
import type { PasswordFile } from './password-file.js';
import type { Privilege } from './privileges.js';
import { administrator, predefinedRoles, type Role } from './roles.js';

/** One account as it is now; never mutated. */
export interface Account {
  readonly user: string;
  /** As the password file has it. Another hash is another password. */
  readonly hash: string;
  readonly roleId: string;
  readonly enabled: boolean;
  readonly locked: boolean;
  readonly passwordChangeRequired: boolean;
  /** What a request of this account is allowed, without a session. */
  readonly who: Authenticated;
}

export interface NewAccount {
  readonly user: string;
  readonly password: string;
  readonly roleId: string;
  readonly enabled: boolean;
  readonly passwordChangeRequired: boolean;
}

/** What is left out stays. A new password takes `passwordChangeRequired` away unless it is given, too. */
export interface AccountChange {
  /** Another name; its sessions end, for they belong to the old one. */
  readonly user?: string;
  readonly password?: string;
  readonly roleId?: string;
  readonly enabled?: boolean;
  /** Accounts are locked by wrong passwords, never by hand. */
  readonly locked?: false;
  readonly passwordChangeRequired?: boolean;
}

/** Why an account or a role is not changed. Wrong names and passwords are a CredentialsError, an unwritable file its own. */
export class AccountError extends Error {
  override readonly name = 'AccountError';
  readonly kind: 'exists' | 'gone' | 'lastAdministrator' | 'roleUnknown' | 'roleInUse' | 'samePassword';

  constructor(kind: AccountError['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

export interface Accounts {
  /** The same array as before where nothing has changed. */
  list(): readonly Account[];
  find(user: string): Account | undefined;
  /** @throws {AccountError}, CredentialsError, PasswordFileWriteError, StateFileError. */
  create(account: NewAccount): Promise<void>;
  /** @throws as {@link create}. */
  change(user: string, change: AccountChange): Promise<void>;
  /** @throws as {@link create}. */
  remove(user: string): Promise<void>;
  /** Counts a wrong password, and locks the account where there are too many. */
  passwordWasWrong(user: string): void;
  passwordWasRight(user: string): void;
}

export interface AccountsOptions {
  /** Path of the password file. */
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
  /** When the first lock ends by itself; Infinity: none does. */
  readonly holdsUntil: number;
}

const ownAlone: ReadonlySet<Privilege> = new Set(['ConfigureSelf']);
const none: ReadonlySet<Privilege> = new Set();

/** Every role, predefined ones first. */
export function rolesOf({ roles }: Pick<AccessState, 'roles'>): readonly Role[] {
  return [...predefinedRoles, ...roles.map((role) => ({ ...role, predefined: false }))];
}

/** The accounts of a password file. Nothing has to be closed. */
export function createAccounts({ file, passwordFile, state, log, clock }: AccountsOptions): Accounts {
  let current: Listing | undefined;
  const lockout = createLockout(state, { log, clock });
  // One change at a time: two that take an administrator away must not both find the other one.
  const turns = new OperationQueue();

  const listing = (): Listing => {
    const entries = passwordFile.entries();
    if (
      current?.entries !== entries ||
      current.state !== state.state ||
      (current.holdsUntil !== Infinity && clock() >= current.holdsUntil)
    )
      current = makeListing(entries, state.state, clock());
    return current;
  };
  const find = (user: string) => listing().byUser.get(user);

  const need = (user: string): Account => {
    passwordFile.refresh();
    const account = find(user);
    if (account === undefined) throw new AccountError('gone', `there is no user ${user}`);
    return account;
  };
  const needRole = (roleId: string): void => {
    if (!rolesOf(state.state).some(({ id }) => id === roleId))
      throw new AccountError('roleUnknown', `there is no role ${roleId}`);
  };
  const leaveAdministrator = (account: Account, remains: boolean): void => {
    if (remains || !isAdministrator(account)) return;
    if (listing().list.some((other) => other.user !== account.user && isAdministrator(other))) return;
    throw new AccountError(
      'lastAdministrator',
      `the last enabled ${administrator} can not be removed, disabled or given another role`,
    );
  };
  const setKept = (kept: readonly AccountState[]): void => state.update((old) => ({ ...old, accounts: kept }));
  /**
   * Changes both files or none. Role and flags come before the password: a crash between the two must not leave an administrator
   * behind. The password file is prepared first, so a full disk is found out before anything has changed.
   */
  const write = ({ keep, forget, edit }: AccountWrite): void => {
    const before = state.state.accounts;
    const prepared = edit === undefined ? undefined : preparePasswordFile(file, edit);
    try {
      if (keep !== undefined) setKept([...before.filter(({ user }) => user !== keep.user), keep]);
    } catch (error) {
      prepared?.discard();
      throw error;
    }
    try {
      prepared?.commit();
    } catch (error) {
      if (keep !== undefined) tryToKeep(before, keep.user, 'putting an account back as it was failed');
      throw error;
    }
    passwordFile.refresh();
    if (forget === undefined) return;
    // The account is gone already: what is left of it gives nothing to anyone.
    const others = state.state.accounts.filter(({ user }) => user !== forget);
    tryToKeep(others, forget, 'forgetting a removed account failed');
  };
  const tryToKeep = (accounts: readonly AccountState[], user: string, complaint: string): void => {
    try {
      setKept(accounts);
    } catch (error) {
      log.error(complaint, { account: user, error });
    }
  };
  const keptOf = (user: string) => state.state.accounts.find((kept) => kept.user === user) ?? unlisted(user);

  return {
    list: () => listing().list,
    find,
    create: ({ password, ...account }) =>
      turns.run('', async () => {
        const { user, roleId } = account;
        const check = () => {
          passwordFile.refresh();
          if (find(user) !== undefined) throw new AccountError('exists', `there is a user ${user} already`);
          needRole(roleId);
        };
        check();
        const line = await userLine(user, password);
        // Nothing waits from here on, and what was right before may not be any more.
        check();
        write({ keep: account, edit: (text) => withUserLine(text, user, line) });
        log.info('account created', { account: user, role: roleId });
      }),
    change: (user, { password, locked, user: name = user, ...change }) =>
      turns.run('', async () => {
        const old = need(user);
        if (password !== undefined && old.passwordChangeRequired && (await isPassword(Buffer.from(password), old.hash)))
          throw new AccountError('samePassword', 'the new password is the old one');
        if (name !== user) checkUser(name);
        const line = password === undefined ? undefined : await userLine(name, password);
        const account = need(user);
        if (name !== user && find(name) !== undefined)
          throw new AccountError('exists', `there is a user ${name} already`);
        if (change.roleId !== undefined) needRole(change.roleId);
        const { lockedUntil, ...kept } = keptOf(user);
        const next: AccountState = {
          ...kept,
          ...(line === undefined ? {} : { passwordChangeRequired: false }),
          ...change,
          user: name,
          ...(locked === false || lockedUntil === undefined ? {} : { lockedUntil }),
        };
        leaveAdministrator(account, next.enabled && next.roleId === administrator);
        write({ keep: next, ...(name === user ? {} : { forget: user }), ...editOf(user, name, line) });
        // Taken out of the file at the same moment.
        if (name !== user) need(name);
        if (locked === false || name !== user) lockout.forget(user);
        const renamed = name === user ? {} : { before: user };
        log.info('account changed', { account: name, ...renamed, role: next.roleId, enabled: next.enabled });
      }),
    remove: (user) =>
      turns.run('', () => {
        leaveAdministrator(need(user), false);
        write({ forget: user, edit: (text) => withoutUser(text, user) });
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

/** One change of the two files. */
interface AccountWrite {
  /** What the state file is to keep of an account. */
  readonly keep?: AccountState;
  /** The account that the state file has to keep nothing of, afterwards. */
  readonly forget?: string;
  /** Of the text of the password file. */
  readonly edit?: (text: string) => string;
}

/** @param line with a new password. */
function editOf(user: string, name: string, line: string | undefined): Pick<AccountWrite, 'edit'> {
  if (line !== undefined) return { edit: (text) => withUserLine(text, user, line) };
  return name === user ? {} : { edit: (text) => withRenamedUser(text, user, name) };
}

function isAdministrator({ enabled, roleId }: Account): boolean {
  return enabled && roleId === administrator;
}

function makeListing(entries: ReadonlyMap<string, HtpasswdEntry>, state: AccessState, time: number): Listing {
  const kept = new Map(state.accounts.map((account) => [account.user, account]));
  const privileges = new Map(rolesOf(state).map((role) => [role.id, new Set(role.privileges)]));
  let holdsUntil = Infinity;
  const list = [...entries.values()].map(({ user, hash }): Account => {
    const { roleId, enabled, passwordChangeRequired, lockedUntil } = kept.get(user) ?? unlisted(user);
    const locked = lockedUntil === null || (lockedUntil !== undefined && time < lockedUntil);
    if (locked && lockedUntil !== null) holdsUntil = Math.min(holdsUntil, lockedUntil);
    // A role that somebody took out of the state file gives nothing.
    const mayDo = passwordChangeRequired ? ownAlone : (privileges.get(roleId) ?? none);
    const who = { user, roleId, privileges: mayDo, session: null, passwordChangeRequired };
    return { user, hash, roleId, enabled, locked, passwordChangeRequired, who };
  });
  return { entries, state, byUser: new Map(list.map((account) => [account.user, account])), list, holdsUntil };
}
