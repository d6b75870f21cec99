/** Access without EMULATOR_AUTH_FILE. */
import { describe, expect, it } from '@jest/globals';
import { accessFixture, accounts, statusAndKeys, roles, root, sessions, tokenHeader } from '../support/access.js';

const fixture = accessFixture({ open: true });

describe('a service without a password file', () => {
  it('creates sessions for all clients and ignores their tokens', async () => {
    const anonymous = await fixture.logIn(null, null);
    expect([anonymous.status, anonymous.json]).toMatchObject([201, { UserName: null }]);
    const named = await fixture.logIn('anyone', 'anything');
    expect([named.status, named.json]).toMatchObject([201, { UserName: 'anyone' }]);
    for (const headers of [tokenHeader(anonymous), tokenHeader(named), { 'X-Auth-Token': 'of-an-old-session' }, {}])
      expect((await fixture.client.get(fixture.machine, headers)).status).toBe(200);
    const uri = String(anonymous.headers.location);
    expect((await fixture.client.send('DELETE', uri, { headers: tokenHeader(anonymous) })).status).toBe(204);
    expect((await fixture.client.get(sessions)).json).toMatchObject({ 'Members@odata.count': 1 });
  });

  it('has no accounts and explains why it cannot create any', async () => {
    expect((await fixture.client.get(accounts)).json).toMatchObject({ 'Members@odata.count': 0, Members: [] });
    const body = { UserName: 'ada', Password: 'long enough', RoleId: 'ReadOnly' };
    const answer = await fixture.client.send('POST', accounts, { body });
    expect(statusAndKeys(answer)).toBe('409 AccountNotModified');
    expect(answer.text).toContain('EMULATOR_AUTH_FILE is not set');
    expect((await fixture.client.get(`${root}/AccountService`)).status).toBe(200);
    expect((await fixture.client.get(roles)).json).toMatchObject({ 'Members@odata.count': 3 });
  });
});
