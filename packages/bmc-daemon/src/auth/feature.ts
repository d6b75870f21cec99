/** Accounts, roles and sessions. */
import type { Log } from '@rackless/daemon/log/log.js';
import type { Feature } from '../feature.js';
import { PasswordFileError, readPasswordFile } from '../password-file/password-file.js';
import { readPasswordText } from '../password-file/password-text.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { StartError } from '../start-error.js';
import type { StateFile } from '../state-file.js';
import { openAccessState, type AccessState } from './access-state.js';
import { openAccess } from './access.js';
import { accountService } from './resources/account-service.js';
import { managerAccountResources } from './resources/manager-account.js';
import { roleResources } from './resources/role.js';
import type { AccountServices } from './resources/services.js';
import { sessionServiceResources } from './resources/session-service.js';
import { openSharedAccess, type SharedAccess } from './shared/shared-access.js';

/** Returns the text of a password file. @throws {PasswordFileError} if it is unreadable or any line is faulty. */
function readPasswords(file: string): string {
  const { faults } = readPasswordFile(file);
  if (faults.length > 0) throw new PasswordFileError(faults);
  return readPasswordText(file);
}

/**
 * Opens the shared accounts. If the store has no accounts, copies those of the files into it.
 * @throws {PasswordFileError} if the password file is unreadable or has a faulty line, even if the store has
 *   accounts. {StoreUnavailable} if the store does not answer, or if this version cannot read the accounts.
 */
function openShared(
  store: SharedStore,
  authFile: string | null,
  { state, log }: { readonly state: StateFile<AccessState>; readonly log: Log },
): Promise<SharedAccess> {
  const passwords = authFile === null ? '' : readPasswords(authFile);
  return openSharedAccess(store, { passwords, state: state.state }, log);
}

/**
 * Adds accounts, roles and sessions. Without this feature, every client has all privileges, and the
 * daemon rejects EMULATOR_AUTH_FILE.
 */
export const accounts: Feature<AccountServices> = {
  resources: [...sessionServiceResources, accountService, ...managerAccountResources, ...roleResources],
  async open({ settings: { authFile }, origins, stateDir, store, log }) {
    try {
      const state = openAccessState(stateDir, log);
      const shared = store === null ? undefined : await openShared(store, authFile, { state, log });
      return { services: { access: openAccess({ authFile, state, shared, log }) } };
    } catch (error) {
      // The check of the settings has read the password file without a fault, but the file may have changed since.
      if (!(error instanceof PasswordFileError)) throw error;
      throw new StartError(`${origins.authFile}: ${error.message}`, { cause: error });
    }
  },
};
