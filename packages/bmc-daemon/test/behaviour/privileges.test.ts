/** Privileges of roles over HTTP. */
import { describe, expect, it } from '@jest/globals';
import {
  accessFixture,
  accounts,
  headersOf,
  basic,
  statusAndKeys,
  root,
  sessions,
  tokenHeader,
  USERS,
  type User,
} from '../support/access.js';

const fixture = accessFixture();

describe('privileges', () => {
  const reset = (user: User) =>
    fixture.client.send('POST', `${fixture.machine}/Actions/ComputerSystem.Reset`, {
      headers: headersOf(user),
      body: { ResetType: 'ForceOff' },
    });
  const patch = async (user: User, uri: string, body: object) =>
    statusAndKeys(await fixture.client.send('PATCH', uri, { headers: headersOf(user), body }));

  it('are those of the role: ReadOnly reads, Operator also resets, Administrator also changes AccountService', async () => {
    expect((await fixture.client.get(fixture.machine, headersOf('rick'))).status).toBe(200);
    expect(statusAndKeys(await reset('rick'))).toBe('403 InsufficientPrivilege');
    expect((await reset('olga')).status).toBe(204);
    expect(await patch('rick', fixture.machine, {})).toBe('403 InsufficientPrivilege');
    expect(await patch('olga', `${root}/SessionService`, { SessionTimeout: 60 })).toBe('403 InsufficientPrivilege');
    expect(await patch('olga', `${root}/AccountService`, { MinPasswordLength: 9 })).toBe('403 InsufficientPrivilege');
    expect(await patch('admin', `${root}/AccountService`, { MinPasswordLength: 9 })).toBe('200');
    // 401 comes before 405, so a client without credentials learns nothing. 405 comes before 403.
    expect(statusAndKeys(await fixture.client.send('DELETE', fixture.machine, { headers: headersOf('rick') }))).toBe(
      '405 OperationNotAllowed',
    );
    expect(statusAndKeys(await fixture.client.send('DELETE', fixture.machine))).toBe('401 AccessUnauthorized');
  });

  it('let only ConfigureManager read the file of service settings; all roles see the link to it', async () => {
    const member = `${root}/Registries/RacklessServiceAttributeRegistry.v1_0_0`;
    const file = `${member}/RacklessServiceAttributeRegistry.v1_0_0.json`;
    const get = async (uri: string, user: User) => statusAndKeys(await fixture.client.get(uri, headersOf(user)));
    for (const user of ['rick', 'olga'] as const) {
      expect(await get(member, user)).toBe('200');
      expect(await get(file, user)).toBe('403 InsufficientPrivilege');
      expect((await fixture.client.send('HEAD', file, { headers: headersOf(user) })).status).toBe(403);
      const expanded = await fixture.client.get(`${root}/Registries?$expand=.($levels=2)`, headersOf(user));
      expect([expanded.status, expanded.text.includes('CurrentValue')]).toEqual([200, false]);
    }
    expect(await get(file, 'admin')).toBe('200');
    expect(statusAndKeys(await fixture.client.get(file))).toBe('401 AccessUnauthorized');
  });

  it('let each user read their own account and change only its password', async () => {
    const [mine, other] = [`${accounts}/rick`, `${accounts}/olga`];
    expect((await fixture.client.get(mine, headersOf('rick'))).status).toBe(200);
    expect(statusAndKeys(await fixture.client.get(other, headersOf('rick')))).toBe('403 InsufficientPrivilege');
    expect(await patch('rick', other, { Password: 'taken over' })).toBe('403 InsufficientPrivilege');
    expect(await patch('rick', mine, { RoleId: 'Administrator' })).toBe('403 InsufficientPrivilege');
    const both = { Password: 'reads even more', RoleId: 'Administrator' };
    expect(await patch('rick', mine, both)).toBe('403 InsufficientPrivilege');
    expect(await patch('rick', mine, { Password: 'reads even more' })).toBe('200');
    expect((await fixture.client.get(mine, basic('rick', 'reads even more'))).json).toMatchObject({
      RoleId: 'ReadOnly',
    });
  });

  it('let users who must change their password only read their account and change the password', async () => {
    const uri = `${accounts}/olga`;
    expect(await patch('admin', uri, { PasswordChangeRequired: true })).toBe('200');
    const opened = await fixture.logIn('olga', USERS.olga);
    const required = { MessageId: 'Base.1.22.PasswordChangeRequired', MessageArgs: [uri] };
    expect(opened.json).toMatchObject({ UserName: 'olga', '@Message.ExtendedInfo': [required] });
    for (const headers of [tokenHeader(opened), headersOf('olga')]) {
      expect((await fixture.client.get(uri, headers)).json).toMatchObject({ PasswordChangeRequired: true });
      for (const closed of [sessions, fixture.machine, accounts])
        expect(statusAndKeys(await fixture.client.get(closed, headers))).toBe('403 PasswordChangeRequired');
    }
    expect(await patch('olga', uri, { PasswordChangeRequired: false })).toBe('403 PasswordChangeRequired');
    expect(await patch('olga', uri, { Password: USERS.olga })).toBe('400 PropertyValueError');
    const changed = await fixture.client.send('PATCH', uri, {
      headers: tokenHeader(opened),
      body: { Password: 'operates more' },
    });
    expect([changed.status, changed.json]).toMatchObject([200, { PasswordChangeRequired: false }]);
    expect((await fixture.client.get(fixture.machine, tokenHeader(opened))).status).toBe(200);
  });
});
