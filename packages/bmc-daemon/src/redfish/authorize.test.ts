import { describe, expect, it } from '@jest/globals';
import type { Privilege } from './privileges.js';
import { fullAccess, anonymous } from './authenticate.js';
import { guardOf } from './authorize.js';

const account = guardOf('ManagerAccount', '/redfish/v1/AccountService/Accounts/{accountId}');
const system = guardOf('ComputerSystem', '/redfish/v1/Systems/{systemId}');
const session = guardOf('Session', '/redfish/v1/SessionService/Sessions/{sessionId}');
const having = (...privileges: Privilege[]) => ({ ...fullAccess, user: 'eve', privileges: new Set(privileges) });
const mine = () => true;
const another = () => false;
const refusal = expect.objectContaining({ status: 403, message: expect.stringContaining('not allowed') as unknown });

describe('the guard of a resource', () => {
  it('allows a client with one of the privileges, and rejects others with 403', () => {
    expect(system(having('Login'), 'GET', another)).toBeNull();
    expect(system(having('ConfigureComponents'), 'POST', another)).toBeNull();
    expect(() => system(having('Login', 'ConfigureSelf'), 'PATCH', mine)).toThrow(refusal);
    expect(() => system(anonymous, 'GET', mine)).toThrow(refusal);
    expect(() => guardOf('Toaster', '/redfish/v1/Toaster')(fullAccess, 'GET', mine)).toThrow(refusal);
    expect(() => system(fullAccess, 'BREW', mine)).toThrow(refusal);
  });

  it('accepts ConfigureSelf only for the client’s own resources', () => {
    const self = having('Login', 'ConfigureSelf');
    expect(session(self, 'DELETE', mine)).toBeNull();
    expect(() => session(self, 'DELETE', another)).toThrow(refusal);
    expect(session(having('ConfigureManager'), 'DELETE', another)).toBeNull();
  });

  it('returns the properties that a client may change if it may not change all', () => {
    expect(account(having('ConfigureUsers'), 'PATCH', another)).toBeNull();
    expect(account(having('ConfigureSelf'), 'PATCH', mine)).toEqual(new Set(['Password']));
    expect(() => account(having('ConfigureSelf'), 'PATCH', another)).toThrow(refusal);
  });

  it('returns the account URI in the error while its password must be changed', () => {
    const identity = { ...having('ConfigureSelf'), passwordChangeRequired: true };
    expect(account(identity, 'GET', mine)).toBeNull();
    expect(() => system(identity, 'GET', mine)).toThrow(
      expect.objectContaining({
        status: 403,
        messages: [{ key: 'PasswordChangeRequired', args: ['/redfish/v1/AccountService/Accounts/eve'], related: [] }],
      }),
    );
  });
});
