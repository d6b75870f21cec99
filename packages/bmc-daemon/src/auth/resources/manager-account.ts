/** Accounts: the users of the password file, or of the shared store. */
import { z } from 'zod';
import type { Account } from '../account-list.js';
import type { Accounts } from '../accounts.js';
import { accountUri } from '../../redfish/authorize.js';
import { RedfishError, redfishError } from '../../redfish/messages/errors.js';
import { withPointers, message, withDetail } from '../../redfish/messages/messages.js';
import { translateAccountErrors } from './account-faults.js';
import { reference, renderCollection } from '../../resources/reference.js';
import { defineResource, type Services } from './services.js';

/** The list of accounts of a service without a password file. */
const noAccounts: readonly Account[] = [];

/** Returns the accounts. @throws {RedfishError} 409 without a password file. */
function accountsOf({ access: { accounts } }: Services): Accounts {
  if (accounts !== null) return accounts;
  const detail = 'EMULATOR_AUTH_FILE is not set: there are no accounts, and every client may do everything.';
  throw new RedfishError(409, [withDetail(message('AccountNotModified'), detail)]);
}

function findAccount({ access }: Services, user: string): Account {
  const account = access.accounts?.find(user);
  if (account === undefined) throw redfishError('ResourceNotFound', 'ManagerAccount', user);
  return account;
}

/**
 * Checks the minimum length of a password. Hashing checks the maximum length.
 * @throws {RedfishError} 400 if the password is too short.
 */
function checkLength(password: string | undefined, { access }: Services): void {
  const { minPasswordLength } = access.settings;
  if (password === undefined || password.length >= minPasswordLength) return;
  throw new RedfishError(400, [
    withPointers(message('StringValueTooShort', '******', minPasswordLength), '#/Password'),
    message('PasswordIncorrectLength'),
  ]);
}

/**
 * Schema of AccountTypes. The role of an account decides about console access, so the value has no
 * effect.
 */
const accountTypes = z
  .array(z.enum(['Redfish', 'HostConsole']))
  .refine(
    (types) => types.includes('Redfish') && new Set(types).size === types.length,
    'the list must contain Redfish, and each type only once',
  )
  .optional();

const managerAccountCollection = defineResource({
  entity: 'ManagerAccountCollection',
  odataType: '#ManagerAccountCollection.ManagerAccountCollection',
  uri: '/redfish/v1/AccountService/Accounts',
  load: ({ services }) => services.access.accounts?.list() ?? noAccounts,
  render: (accounts) =>
    renderCollection(
      'Accounts Collection',
      accounts.map(({ user }) => accountUri(user)),
    ),
  post: {
    body: z.strictObject({
      UserName: z.string().min(1).max(255),
      Password: z.string(),
      RoleId: z.string(),
      Enabled: z.boolean().optional(),
      Locked: z.literal(false).optional(),
      PasswordChangeRequired: z.boolean().optional(),
      AccountTypes: accountTypes,
    }),
    run(_accounts, { UserName: user, Password: password, RoleId: roleId, ...flags }, { services }) {
      checkLength(password, services);
      const { Enabled: enabled = true, PasswordChangeRequired: passwordChangeRequired = false } = flags;
      return translateAccountErrors({ user, roleId }, async () => {
        await accountsOf(services).create({ user, password, roleId, enabled, passwordChangeRequired });
        return { created: { location: accountUri(user) } };
      });
    },
  },
});

const managerAccount = defineResource({
  entity: 'ManagerAccount',
  odataType: '#ManagerAccount.v1_14_1.ManagerAccount',
  uri: '/redfish/v1/AccountService/Accounts/{accountId}',
  isOwn: ({ params, requester }) => requester.user !== null && params.accountId === requester.user,
  load: ({ params, services }) => findAccount(services, params.accountId),
  render: ({ user, roleId, enabled, locked, passwordChangeRequired, identity }, { services }) => ({
    Id: user,
    Name: 'User Account',
    UserName: user,
    // Write-only: the schema requires null in responses.
    Password: null,
    RoleId: roleId,
    Enabled: enabled,
    Locked: locked,
    PasswordChangeRequired: passwordChangeRequired,
    AccountTypes: [
      'Redfish',
      ...(services.consoleSsh !== null && identity.privileges.has('ConfigureComponents') ? ['HostConsole'] : []),
    ],
    Links: { Role: reference(`/redfish/v1/AccountService/Roles/${roleId}`) },
  }),
  patch: {
    body: z.strictObject({
      UserName: z.string().min(1).max(255).optional(),
      Password: z.string().optional(),
      RoleId: z.string().optional(),
      Enabled: z.boolean().optional(),
      // Clients can only set it to false, because only wrong passwords lock an account. To block an
      // account, a client sets Enabled to false.
      Locked: z.literal(false).optional(),
      PasswordChangeRequired: z.boolean().optional(),
      AccountTypes: accountTypes,
    }),
    apply({ user }, sent, { services, requester }) {
      const { UserName: name = user, Password: password, RoleId: roleId, Enabled: enabled, Locked: locked } = sent;
      const { PasswordChangeRequired: passwordChangeRequired } = sent;
      checkLength(password, services);
      return translateAccountErrors({ user: name, ...(roleId === undefined ? {} : { roleId }) }, async () => {
        await accountsOf(services).change(user, {
          user: name,
          ...(password === undefined ? {} : { password }),
          ...(roleId === undefined ? {} : { roleId }),
          ...(enabled === undefined ? {} : { enabled }),
          ...(locked === undefined ? {} : { locked }),
          ...(passwordChangeRequired === undefined ? {} : { passwordChangeRequired }),
        });
        if (enabled === false || name !== user) await services.access.sessions.endAll(user);
        // The URI of the account contains the user name, so a new name changes the URI.
        if (name !== user) return { changed: { location: accountUri(name) } };
        // Each session of the account has the hash of the old password and is therefore invalid
        // now. The session of this request gets the new hash.
        if (password !== undefined && requester.user === user && requester.session !== null)
          await services.access.sessions.adoptNewHash(requester.session);
        return undefined;
      });
    },
  },
  delete: ({ user }, { services }) =>
    translateAccountErrors({ user }, async () => {
      await accountsOf(services).remove(user);
      return undefined;
    }),
});

/** The accounts and their collection. */
export const managerAccountResources = [managerAccountCollection, managerAccount];
