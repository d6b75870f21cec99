import { describe, expect, it } from '@jest/globals';
import type { Privilege } from './privileges.js';
import { fullAccess, anonymous } from './authenticate.js';
import { guardOf } from './authorize.js';

const account = guardOf('ManagerAccount', '/redfish/v1/AccountService/Accounts/{accountId}');
const system = guardOf('ComputerSystem', '/redfish/v1/Systems/{systemId}');
const session = guardOf('Session', '/redfish/v1/SessionService/Sessions/{sessionId}');
const identityWith = (...privileges: Privilege[]) => ({ ...fullAccess, user: 'eve', privileges: new Set(privileges) });
const isOwn = () => true;
const isNotOwn = () => false;
const refusal = expect.objectContaining({ status: 403, message: expect.stringContaining('not allowed') as unknown });

describe('the guard of a resource', () => {
  it('allows a client with one of the privileges, and rejects others with 403', () => {
    expect(system(identityWith('Login'), 'GET', isNotOwn)).toBeNull();
    expect(system(identityWith('ConfigureComponents'), 'POST', isNotOwn)).toBeNull();
    expect(() => system(identityWith('Login', 'ConfigureSelf'), 'PATCH', isOwn)).toThrow(refusal);
    expect(() => system(anonymous, 'GET', isOwn)).toThrow(refusal);
    expect(() => guardOf('Toaster', '/redfish/v1/Toaster')(fullAccess, 'GET', isOwn)).toThrow(refusal);
    expect(() => system(fullAccess, 'BREW', isOwn)).toThrow(refusal);
  });

  it('accepts ConfigureSelf only for the client’s own resources', () => {
    const self = identityWith('Login', 'ConfigureSelf');
    expect(session(self, 'DELETE', isOwn)).toBeNull();
    expect(() => session(self, 'DELETE', isNotOwn)).toThrow(refusal);
    expect(session(identityWith('ConfigureManager'), 'DELETE', isNotOwn)).toBeNull();
  });

  it('returns null if the client may change all properties, otherwise the allowed ones; throws if there are none', () => {
    expect(account(identityWith('ConfigureUsers'), 'PATCH', isNotOwn)).toBeNull();
    expect(account(identityWith('ConfigureSelf'), 'PATCH', isOwn)).toEqual(new Set(['Password']));
    expect(() => account(identityWith('ConfigureSelf'), 'PATCH', isNotOwn)).toThrow(refusal);
  });

  it("allows a user who must change their password only their own account; the error has the account's URI", () => {
    const identity = { ...identityWith('ConfigureSelf'), passwordChangeRequired: true };
    expect(account(identity, 'GET', isOwn)).toBeNull();
    expect(() => system(identity, 'GET', isOwn)).toThrow(
      expect.objectContaining({
        status: 403,
        messages: [{ key: 'PasswordChangeRequired', args: ['/redfish/v1/AccountService/Accounts/eve'], related: [] }],
      }),
    );
  });
});
