/** The account service: password length, lockout and HTTP Basic authentication of all accounts. */
import { z } from 'zod';
import type { AccessSettings } from '../access-state.js';
import { MAX_PASSWORD_BYTES } from '../../password-file/bcrypt-password.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { withPointers, message } from '../../redfish/messages/messages.js';
import { reference } from '../../resources/reference.js';
import { defineResource } from './services.js';
import { enabled } from '../../resources/status.js';

const seconds = z.int().min(0).optional();

const body = z.strictObject({
  AccountLockoutThreshold: z.int().min(0).optional(),
  AccountLockoutDuration: seconds,
  AccountLockoutCounterResetAfter: seconds,
  AccountLockoutCounterResetEnabled: z.boolean().optional(),
  MinPasswordLength: z.int().min(1).max(MAX_PASSWORD_BYTES).optional(),
  HTTPBasicAuth: z.enum(['Enabled', 'Unadvertised', 'Disabled']).optional(),
});

/** Returns the sent properties of a PATCH under the names of the settings. */
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

/** The account service. Its PATCH changes the settings of all accounts. */
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
    async apply(settings, sent, { services }) {
      const next = { ...settings, ...changeOf(sent) };
      // AccountService schema: the counter reset time must not exceed the lockout duration. A duration of 0 is
      // not compared, because it allows no temporary lock.
      if (next.lockoutSeconds > 0 && next.lockoutResetSeconds > next.lockoutSeconds)
        throw new RedfishError(400, [
          withPointers(
            message('PropertyValueConflict', 'AccountLockoutCounterResetAfter', 'AccountLockoutDuration'),
            '#/AccountLockoutCounterResetAfter',
          ),
        ]);
      await services.access.changeSettings(changeOf(sent));
      return undefined;
    },
  },
});
