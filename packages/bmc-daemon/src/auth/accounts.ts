/**
 * Accounts: the users of the password file, with the roles, locks and flags of the state file. Both
 * files may change at any time: `htpasswd` writes the first, the AccountService both. With a shared store, an entry of
 * the store replaces both files (shared/shared-access.ts).
 */
import type { Log } from '@rackless/daemon/log/log.js';
import { OperationQueue } from '../drivers/queue/operation-queue.js';
import { isPassword } from '../password-file/bcrypt-password.js';
import { checkUser, userLine, withoutUser, withUserLine } from '../password-file/password-file-writer.js';
import type { PasswordFile } from '../password-file/password-file.js';
import type { StateFile } from '../state-file.js';
import type { AccessState, AccountState } from './access-state.js';
import { AccountFiles, passwordFileEdit, type PreparePasswordEdit } from './account-files.js';
import { AccountList, isAdministrator, rolesOf, type Account } from './account-list.js';
import { createLockout, type Lockout } from './lockout.js';
import { administrator } from './roles.js';

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
 * The error for a request that conflicts with the accounts or roles. Names and passwords in a wrong
 * form are a CredentialsError; unwritable files have their own errors.
 */
export class AccountError extends Error {
  override readonly name = 'AccountError';
  readonly kind: 'exists' | 'notFound' | 'lastAdministrator' | 'roleUnknown' | 'roleInUse' | 'samePassword';

  constructor(kind: AccountError['kind'], message: string) {
    super(message);
    this.kind = kind;
  }
}

/**
 * The accounts of the service. Changes are written before they take effect. With a shared store, the methods throw
 * {@link StoreUnavailable} instead of a PasswordFileWriteError or a StateFileError.
 */
export interface Accounts {
  /** Lists the accounts. Returns the same array until something changes. */
  list(): readonly Account[];
  /** Returns an account; undefined for an unknown user. */
  find(user: string): Account | undefined;
  /**
   * Creates an account.
   * @throws {AccountError}, CredentialsError, PasswordFileWriteError, StateFileError.
   */
  create(account: NewAccount): Promise<void>;
  /** Changes an account. @throws as {@link create}. */
  change(user: string, change: AccountChange): Promise<void>;
  /** Removes an account. @throws as {@link create}. */
  remove(user: string): Promise<void>;
  /** Counts a wrong password, and locks the account at the threshold. Ignores an unknown user. */
  countWrongPassword(user: string): void;
  /** Resets the count of wrong passwords. */
  resetWrongPasswords(user: string): void;
}

interface AccountsOptions {
  readonly preparePasswordEdit: PreparePasswordEdit;
  readonly passwordFile: PasswordFile;
  readonly state: StateFile<AccessState>;
  /**
   * Another access to the same stored data as `state`. The lockout writes locks through it, outside
   * of a running change, so that a failed change does not remove a new lock.
   */
  readonly lockState: StateFile<AccessState>;
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** `OperationQueue` has a queue for each key. All changes of accounts have this key. */
const QUEUE_KEY = '';

/** Returns the accounts of a service with a password file. The result needs no close. */
export function createAccounts(options: AccountsOptions): Accounts {
  return new FileAccounts(options);
}

class FileAccounts implements Accounts {
  readonly #passwordFile: PasswordFile;
  readonly #state: StateFile<AccessState>;
  readonly #log: Pick<Log, 'info'>;
  readonly #list: AccountList;
  readonly #files: AccountFiles;
  readonly #lockout: Lockout;
  /** Runs one change at a time. Two changes at once could remove the last two administrators. */
  readonly #changes = new OperationQueue();

  constructor(options: AccountsOptions) {
    const { passwordFile, state, lockState, log, clock } = options;
    this.#passwordFile = passwordFile;
    this.#state = state;
    this.#log = log;
    this.#list = new AccountList({ passwordFile, state, clock });
    this.#files = new AccountFiles(options);
    this.#lockout = createLockout(lockState, { log, clock });
  }

  list(): readonly Account[] {
    return this.#list.all();
  }

  find(user: string): Account | undefined {
    return this.#list.find(user);
  }

  create({ password, ...account }: NewAccount): Promise<void> {
    return this.#changes.run(QUEUE_KEY, async () => {
      const { user, roleId } = account;
      this.#requireFree(user);
      this.#requireRole(roleId);
      const line = await userLine(user, password);
      // Checks again, because accounts may have changed during the hashing. No await follows.
      this.#requireFree(user);
      this.#requireRole(roleId);
      this.#files.write({ stored: account, edit: (text) => withUserLine(text, user, line) });
      this.#log.info('account created', { account: user, role: roleId });
    });
  }

  change(user: string, change: AccountChange): Promise<void> {
    return this.#changes.run(QUEUE_KEY, () => this.#change(user, change));
  }

  remove(user: string): Promise<void> {
    return this.#changes.run(QUEUE_KEY, () => {
      this.#requireOtherAdministrator(this.#findOrThrow(user));
      this.#files.write({ removeState: user, edit: (text) => withoutUser(text, user) });
      this.#lockout.forget(user);
      this.#log.info('account removed', { account: user });
      return Promise.resolve();
    });
  }

  countWrongPassword(user: string): void {
    if (this.find(user) !== undefined) this.#lockout.count(user);
  }

  resetWrongPasswords(user: string): void {
    this.#lockout.forget(user);
  }

  async #change(user: string, { password, locked, user: newName = user, ...change }: AccountChange): Promise<void> {
    const old = this.#findOrThrow(user);
    if (password !== undefined && old.passwordChangeRequired && (await isPassword(Buffer.from(password), old.hash)))
      throw new AccountError('samePassword', 'the new password is the old one');
    if (newName !== user) checkUser(newName);
    const line = password === undefined ? undefined : await userLine(newName, password);
    const account = this.#findOrThrow(user);
    if (newName !== user && this.find(newName) !== undefined) throw accountExistsError(newName);
    if (change.roleId !== undefined) this.#requireRole(change.roleId);
    const { lockedUntil, ...stored } = this.#files.stateOf(user);
    const next: AccountState = {
      ...stored,
      ...(line === undefined ? {} : { passwordChangeRequired: false }),
      ...change,
      user: newName,
      ...(locked === false || lockedUntil === undefined ? {} : { lockedUntil }),
    };
    if (!isAdministrator(next)) this.#requireOtherAdministrator(account);
    const removeState = newName === user ? {} : { removeState: user };
    this.#files.write({ stored: next, ...removeState, ...passwordFileEdit(user, newName, line) });
    // Fails if another process removed the account from the file at the same moment.
    if (newName !== user) this.#findOrThrow(newName);
    if (locked === false || newName !== user) this.#lockout.forget(user);
    const oldName = newName === user ? {} : { before: user };
    this.#log.info('account changed', { account: newName, ...oldName, role: next.roleId, enabled: next.enabled });
  }

  #findOrThrow(user: string): Account {
    this.#passwordFile.refresh();
    const account = this.find(user);
    if (account === undefined) throw new AccountError('notFound', `there is no user ${user}`);
    return account;
  }

  #requireFree(user: string): void {
    this.#passwordFile.refresh();
    if (this.find(user) !== undefined) throw accountExistsError(user);
  }

  #requireRole(roleId: string): void {
    if (!rolesOf(this.#state.state).some(({ id }) => id === roleId))
      throw new AccountError('roleUnknown', `there is no role ${roleId}`);
  }

  /** Rejects a change after which no enabled administrator would remain. */
  #requireOtherAdministrator(account: Account): void {
    if (!isAdministrator(account)) return;
    if (this.list().some((other) => other.user !== account.user && isAdministrator(other))) return;
    throw new AccountError(
      'lastAdministrator',
      `the last enabled ${administrator} cannot be removed, disabled or given another role`,
    );
  }
}

function accountExistsError(user: string): AccountError {
  return new AccountError('exists', `there is a user ${user} already`);
}
