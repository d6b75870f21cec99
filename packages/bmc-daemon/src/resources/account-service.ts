/** What holds of all accounts: how long passwords are, and what wrong ones lead to. */
import { z } from 'zod';
import type { AccessSettings } from '../auth/access-state.js';
import { MAX_PASSWORD_BYTES } from '../auth/bcrypt-password.js';
import { RedfishError } from '../redfish/errors.js';
import { about, message } from '../redfish/messages.js';
import { telling } from './account-faults.js';
import { reference } from './reference.js';
import { defineResource } from './services.js';
import { enabled } from './status.js';

const seconds = z.int().min(0).optional();

const body = z.strictObject({
  AccountLockoutThreshold: z.int().min(0).optional(),
  AccountLockoutDuration: seconds,
  AccountLockoutCounterResetAfter: seconds,
  AccountLockoutCounterResetEnabled: z.boolean().optional(),
  MinPasswordLength: z.int().min(1).max(MAX_PASSWORD_BYTES).optional(),
  HTTPBasicAuth: z.enum(['Enabled', 'Unadvertised', 'Disabled']).optional(),
});

/** The properties of a PATCH under the names of the settings; what was not sent is not in it. */
function changeOf(sent: z.infer<typeof body>): Partial<AccessSettings> {
  const change: { readonly [Key in keyof AccessSettings]?: AccessSettings[Key] | undefined } = {
    lockoutThreshold: sent.AccountLockoutThreshold,
    lockoutSeconds: sent.AccountLockoutDuration,
    lockoutResetSeconds: sent.AccountLockoutCounterResetAfter,
    lockoutResets: sent.AccountLockoutCounterResetEnabled,
    minPasswordLength: sent.MinPasswordLength,
    httpBasicAuth: sent.HTTPBasicAuth,
  };
  return Object.fromEntries(Object.entries(change).filter(([, value]) => value !== undefined));
}

export const accountService = defineResource({
  entity: 'AccountService',
  odataType: '#AccountService.v1_18_1.AccountService',
  uri: '/redfish/v1/AccountService',
  load: ({ services }) => services.access.settings,
  render: (settings, { self, services }) => ({
    Id: 'AccountService',
    Name: 'Account Service',
    ServiceEnabled: true,
    Status: enabled,
    AccountLockoutThreshold: settings.lockoutThreshold,
    AccountLockoutDuration: settings.lockoutSeconds,
    AccountLockoutCounterResetAfter: settings.lockoutResetSeconds,
    AccountLockoutCounterResetEnabled: settings.lockoutResets,
    MinPasswordLength: settings.minPasswordLength,
    MaxPasswordLength: MAX_PASSWORD_BYTES,
    LocalAccountAuth: 'Enabled',
    HTTPBasicAuth: settings.httpBasicAuth,
    SupportedAccountTypes: ['Redfish', ...(services.consoleSsh === null ? [] : ['HostConsole'])],
    Accounts: reference(`${self}/Accounts`),
    Roles: reference(`${self}/Roles`),
  }),
  patch: {
    body,
    apply(settings, sent, { services }) {
      const next = { ...settings, ...changeOf(sent) };
      // The schema: the count must not outlive the lock.
      if (next.lockoutSeconds > 0 && next.lockoutResetSeconds > next.lockoutSeconds)
        throw new RedfishError(400, [
          about(
            message('PropertyValueConflict', 'AccountLockoutCounterResetAfter', 'AccountLockoutDuration'),
            '#/AccountLockoutCounterResetAfter',
          ),
        ]);
      return telling({}, () => {
        services.access.changeSettings(changeOf(sent));
        return undefined;
      });
    },
  },
});
