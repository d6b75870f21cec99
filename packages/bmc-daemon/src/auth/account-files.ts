/**
 * Writes the password file and the stored state of accounts together. With a shared store, an entry of the store
 * replaces both files.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import { withRenamedUser, withUserLine } from '../password-file/password-file-writer.js';
import type { PasswordFile } from '../password-file/password-file.js';
import type { StateFile } from '../state-file.js';
import { defaultState, type AccessState, type AccountState } from './access-state.js';

/** A change of one account, in one file or in both files. */
interface AccountWrite {
  /** The new state of an account. */
  readonly stored?: AccountState;
  /** The account to remove from the state file afterwards. */
  readonly removeState?: string;
  /** Returns the new text of the password file. */
  readonly edit?: (text: string) => string;
}

/**
 * Prepares an edit of the text of the password file. The caller must call `commit` or `discard` on
 * the result.
 */
export type PreparePasswordEdit = (edit: (text: string) => string) => { commit(): void; discard(): void };

interface AccountFilesOptions {
  readonly preparePasswordEdit: PreparePasswordEdit;
  readonly passwordFile: Pick<PasswordFile, 'refresh'>;
  readonly state: StateFile<AccessState>;
  readonly log: Pick<Log, 'error'>;
}

/** The two files with the accounts. */
export class AccountFiles {
  readonly #options: AccountFilesOptions;

  constructor(options: AccountFilesOptions) {
    this.#options = options;
  }

  /** Returns the state of an account in the state file, or its default. */
  stateOf(user: string): AccountState {
    return this.#accounts.find((stored) => stored.user === user) ?? defaultState(user);
  }

  /**
   * Changes the files in this order: `stored`, `edit`, `removeState`. A user without stored state
   * is an administrator, so the state of a new user must be on disk before the password. Prepares
   * the password file first, so that the change fails before its first write if the disk is full.
   * If the write of the password file fails, restores the old state and throws. If the restoring fails, or
   * removing the state of `removeState`, logs that error and does not throw it.
   * @throws {PasswordFileWriteError}, StateFileError.
   */
  write({ stored, removeState, edit }: AccountWrite): void {
    const { preparePasswordEdit, passwordFile } = this.#options;
    const oldAccounts = this.#accounts;
    const prepared = edit === undefined ? undefined : preparePasswordEdit(edit);
    try {
      if (stored !== undefined) this.#store([...oldAccounts.filter(({ user }) => user !== stored.user), stored]);
    } catch (error) {
      prepared?.discard();
      throw error;
    }
    try {
      prepared?.commit();
    } catch (error) {
      if (stored !== undefined)
        this.#storeOrLog(oldAccounts, stored.user, 'restoring the stored state of an account failed');
      throw error;
    }
    passwordFile.refresh();
    if (removeState === undefined) return;
    // The account does not exist anymore, so its remaining state gives no rights.
    const otherAccounts = this.#accounts.filter(({ user }) => user !== removeState);
    this.#storeOrLog(otherAccounts, removeState, 'deleting the stored state of a removed account failed');
  }

  get #accounts(): readonly AccountState[] {
    return this.#options.state.state.accounts;
  }

  #store(accounts: readonly AccountState[]): void {
    this.#options.state.update((old) => ({ ...old, accounts }));
  }

  #storeOrLog(accounts: readonly AccountState[], user: string, failureMessage: string): void {
    try {
      this.#store(accounts);
    } catch (error) {
      this.#options.log.error(failureMessage, { account: user, error });
    }
  }
}

/**
 * Returns the edit of the password file for a changed account; no edit if name and password stay the same.
 * @param line the user's line with a new password; undefined: the password stays the same.
 */
export function passwordFileEdit(user: string, newName: string, line: string | undefined): Pick<AccountWrite, 'edit'> {
  if (line !== undefined) return { edit: (text) => withUserLine(text, user, line) };
  return newName === user ? {} : { edit: (text) => withRenamedUser(text, user, newName) };
}
