/** Sessions over HTTP. */
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

describe('a session', () => {
  it('is created by a POST without Authorization to the collection or its Members, and returned completely', async () => {
    const created = await fixture.logIn('admin', USERS.admin);
    const location = String(created.headers.location);
    expect(location).toMatch(/^\/redfish\/v1\/SessionService\/Sessions\/[0-9a-f]{16}$/);
    expect(created.headers['x-auth-token']).toMatch(/^[0-9a-f]{64}$/);
    expect([created.status, created.headers['set-cookie'], created.json]).toEqual([
      201,
      undefined,
      {
        '@odata.id': location,
        '@odata.type': '#Session.v1_8_0.Session',
        '@odata.context': '/redfish/v1/$metadata#Session.Session',
        Id: location.split('/').at(-1),
        Name: 'User Session',
        UserName: 'admin',
        Password: null,
        SessionType: 'Redfish',
        ClientOriginIPAddress: '127.0.0.1',
        CreatedTime: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/) as unknown,
      },
    ]);
    const other = await fixture.logIn('admin', USERS.admin, `${sessions}/Members`);
    expect([other.status, other.headers.location === location]).toEqual([201, false]);
    const list = await fixture.client.get(sessions, tokenHeader(created));
    expect(list.json).toMatchObject({ 'Members@odata.count': 2, Members: [{ '@odata.id': location }, {}] });
    expect((await fixture.client.get(location, tokenHeader(other))).json).toEqual(created.json);
  });

  it('gives access by its token; a wrong or ended token gets 401, and no answer repeats a wrong token', async () => {
    const created = await fixture.logIn('admin', USERS.admin);
    const token = tokenHeader(created);
    expect((await fixture.client.get(fixture.machine, token)).status).toBe(200);
    // The token decides, even if the request also has valid credentials for HTTP Basic.
    const wrong = { 'X-Auth-Token': `f${token['X-Auth-Token'].slice(1)}x`, ...headersOf('admin') };
    for (const uri of [fixture.machine, `${root}/nothing`]) {
      const refused = await fixture.client.get(uri, wrong);
      expect(statusAndKeys(refused)).toBe('401 AccessUnauthorized');
      expect(refused.headers['www-authenticate']).toBe('Basic realm="Rackless", charset="UTF-8"');
      expect(refused.text).not.toContain(wrong['X-Auth-Token'].slice(0, 8));
    }
    expect(fixture.outcomes.at(-1)).toMatchObject({ status: 401, user: null, refused: 'no such session' });
    expect((await fixture.client.send('DELETE', String(created.headers.location), { headers: token })).status).toBe(
      204,
    );
    expect(statusAndKeys(await fixture.client.get(fixture.machine, token))).toBe('401 AccessUnauthorized');
  });

  it.each([
    ['a wrong password', 'admin', 'wrong', '401 AccessUnauthorized', 'wrong password, user admin'],
    ['an unknown user', 'nobody', 'wrong', '401 AccessUnauthorized', 'unknown user, user nobody'],
    ['nulls', null, null, '401 AccessUnauthorized', 'no credentials'],
    ['numbers', 1, 2, '400 PropertyValueTypeError PropertyValueTypeError', undefined],
    ['an empty body', undefined, undefined, '400 PropertyMissing PropertyMissing', undefined],
  ])('is refused for %s', async (_, user, password, expected, refused) => {
    const answer = await fixture.logIn(user, password);
    expect(statusAndKeys(answer)).toBe(expected);
    expect(answer.text).not.toContain('wrong"');
    expect(fixture.outcomes.at(-1)?.refused).toBe(refused);
    expect('www-authenticate' in answer.headers).toBe(answer.status === 401);
  });

  it('shares the login queue with HTTP Basic; a login that waits too long gets 503 with Retry-After', async () => {
    const guesses = Array.from({ length: 16 }, (_, at) =>
      at % 2 === 0
        ? fixture.logIn('rick', `guess ${at}`)
        : fixture.client.get(`${root}/Systems`, basic('rick', `guess ${at}`)),
    );
    const answers = await Promise.all(guesses);
    const unverified = answers.filter(({ status }) => status === 503);
    expect(unverified.length).toBeGreaterThan(0);
    for (const answer of unverified) {
      expect(statusAndKeys(answer)).toBe('503 ServiceTemporarilyUnavailable');
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
      expect('www-authenticate' in answer.headers).toBe(false);
    }
    const refusals = fixture.outcomes.map(({ refused }) => refused);
    expect(new Set(refusals)).toEqual(
      new Set(['wrong password, user rick', 'no result yet, try again later, user rick']),
    );
    // The queue is empty after these guesses, so the service verifies the correct password.
    expect(statusAndKeys(await fixture.logIn('rick', USERS.rick))).toBe('201');
  });

  it('ends after SessionTimeout without a request', async () => {
    const service = `${root}/SessionService`;
    const patch = (SessionTimeout: unknown) =>
      fixture.client.send('PATCH', service, { headers: headersOf('admin'), body: { SessionTimeout } });
    expect(statusAndKeys(await patch(29))).toBe('400 PropertyValueOutOfRange');
    expect(statusAndKeys(await patch(86_401))).toBe('400 PropertyValueOutOfRange');
    expect(statusAndKeys(await patch('60'))).toBe('400 PropertyValueTypeError');
    expect((await patch(60)).json).toEqual({
      '@odata.id': service,
      '@odata.type': '#SessionService.v1_2_0.SessionService',
      '@odata.context': '/redfish/v1/$metadata#SessionService.SessionService',
      Description: 'Sessions of users, and the timeout of unused sessions',
      Id: 'SessionService',
      Name: 'Session Service',
      ServiceEnabled: true,
      SessionTimeout: 60,
      Status: { State: 'Enabled', Health: 'OK' },
      Sessions: { '@odata.id': sessions },
      '@Redfish.WriteableProperties': ['SessionTimeout'],
    });
    const created = await fixture.logIn('admin', USERS.admin);
    fixture.advance(60_000);
    expect((await fixture.client.get(fixture.machine, tokenHeader(created))).status).toBe(200);
    fixture.advance(60_001);
    expect((await fixture.client.get(fixture.machine, tokenHeader(created))).status).toBe(401);
  });

  it('ends the least recently used session of its user if its login exceeds the limit of this user', async () => {
    const opened: ReturnType<typeof tokenHeader>[] = [];
    for (let index = 0; index < 5; index += 1) {
      fixture.advance(1);
      // The oldest session is used once more, so the second one is the least recently used.
      if (index === 4) await fixture.client.get(fixture.machine, opened[0]);
      fixture.advance(1);
      opened.push(tokenHeader(await fixture.logIn('admin', USERS.admin)));
    }
    const statuses = [];
    for (const token of opened) statuses.push((await fixture.client.get(fixture.machine, token)).status);
    expect(statuses).toEqual([200, 401, 200, 200, 200]);
  });

  it('can be read and ended only by its user and by accounts with ConfigureManager', async () => {
    const ricks = String((await fixture.logIn('rick', USERS.rick)).headers.location);
    const olgas = String((await fixture.logIn('olga', USERS.olga)).headers.location);
    const end = async (uri: string, user: User) =>
      statusAndKeys(await fixture.client.send('DELETE', uri, { headers: headersOf(user) }));
    expect(await end(ricks, 'olga')).toBe('403 InsufficientPrivilege');
    expect(statusAndKeys(await fixture.client.get(ricks, headersOf('olga')))).toBe('403 InsufficientPrivilege');
    expect([await end(ricks, 'rick'), await end(olgas, 'admin')]).toEqual(['204', '204']);
    expect(await end(ricks, 'admin')).toBe('404 ResourceNotFound');
  });

  it('ends if the account is removed, or if another session or the password file changes the password', async () => {
    const [one, two] = [
      tokenHeader(await fixture.logIn('rick', USERS.rick)),
      tokenHeader(await fixture.logIn('rick', USERS.rick)),
    ];
    const uri = `${accounts}/rick`;
    const patched = await fixture.client.send('PATCH', uri, { headers: one, body: { Password: 'reads even more' } });
    expect(patched.status).toBe(200);
    expect([
      (await fixture.client.get(fixture.machine, one)).status,
      (await fixture.client.get(fixture.machine, two)).status,
    ]).toEqual([200, 401]);
    fixture.htpasswd('rick', 'from outside');
    fixture.advance(1000);
    expect((await fixture.client.get(fixture.machine, one)).status).toBe(401);
    const three = tokenHeader(await fixture.logIn('rick', 'from outside'));
    expect((await fixture.client.send('DELETE', uri, { headers: headersOf('admin') })).status).toBe(204);
    expect((await fixture.client.get(fixture.machine, three)).status).toBe(401);
  });
});
