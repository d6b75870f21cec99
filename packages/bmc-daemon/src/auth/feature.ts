/** Accounts, roles and sessions. */
import type { Feature } from '../feature.js';
import { PasswordFileError } from '../password-file/password-file.js';
import { StartError } from '../start-error.js';
import { openAccessState } from './access-state.js';
import { openAccess } from './access.js';
import { accountService } from './resources/account-service.js';
import { managerAccountResources } from './resources/manager-account.js';
import { roleResources } from './resources/role.js';
import type { AccountServices } from './resources/services.js';
import { sessionServiceResources } from './resources/session-service.js';

/** The feature accounts. Without it, every client has all privileges, and EMULATOR_AUTH_FILE is rejected. */
export const accounts: Feature<AccountServices> = {
  resources: [...sessionServiceResources, accountService, ...managerAccountResources, ...roleResources],
  open({ settings: { authFile }, origins, stateDir, log }) {
    try {
      return { services: { access: openAccess({ authFile, state: openAccessState(stateDir, log), log }) } };
    } catch (error) {
      // The file may have changed since the check of the settings.
      if (!(error instanceof PasswordFileError)) throw error;
      throw new StartError(`${origins.authFile}: ${error.message}`, { cause: error });
    }
  },
};
