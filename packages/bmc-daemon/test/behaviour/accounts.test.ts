/** Accounts over HTTP. */
import { describe, expect, it } from '@jest/globals';
import { readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import {
  accessFixture,
  accounts,
  headersOf,
  basic,
  statusAndKeys,
  roles,
  root,
  tokenHeader,
  USERS,
} from '../support/access.js';

const fixture = accessFixture();

describe('a request whose body arrives late', () => {
  const admin = headersOf('admin');
  const change = (method: string, uri: string, body?: object) =>
    fixture.client.send(method, uri, { headers: admin, ...(body === undefined ? {} : { body }) });

  it.each([
    ['is deleted', () => change('DELETE', `${accounts}/eva`), '401'],
    ['has another password', () => change('PATCH', `${accounts}/eva`, { Password: 'another password' }), '401'],
    ['becomes read-only', () => change('PATCH', `${accounts}/eva`, { RoleId: 'ReadOnly' }), '403'],
    ['does not change', () => change('PATCH', `${accounts}/olga`, { Enabled: false }), '200'],
  ])('is authorized again if its account %s before the end of the body', async (_what, interfere, status) => {
    const created = { UserName: 'eva', Password: 'long enough', RoleId: 'Administrator' };
    expect((await change('POST', accounts, created)).status).toBe(201);
    const eva = basic('eva', 'long enough');
    const body = '{"Enabled":false}';
    const socket = connect(fixture.client.port, '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    const head = [
      `PATCH ${accounts}/rick HTTP/1.1`,
      'Host: x',
      `Authorization: ${eva.Authorization}`,
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Connection: close',
    ].join('\r\n');
    socket.write(`${head}\r\n\r\n${body.slice(0, 5)}`);
    // The service verifies these credentials after those of the first request, so this answer shows
    // that it has verified both.
    expect((await fixture.client.get(fixture.machine, eva)).status).toBe(200);
    expect((await interfere()).status).toBeLessThan(300);
    socket.write(body.slice(5));
    await closed;
    expect(answer.slice('HTTP/1.1 '.length, 'HTTP/1.1 '.length + 3)).toBe(status);
    const { json } = await fixture.client.get(`${accounts}/rick`, admin);
    expect(json).toMatchObject({ Enabled: status !== '200' });
  });
});

describe('accounts', () => {
  const post = (body: object, uri = accounts) =>
    fixture.client.send('POST', uri, { headers: headersOf('admin'), body });
  const patch = (user: string, body: object) =>
    fixture.client.send('PATCH', `${accounts}/${user}`, { headers: headersOf('admin'), body });

  it('are created with the requested properties and never show a password', async () => {
    const created = await post({ UserName: 'ada@lab', Password: 'ada’s own', RoleId: 'Operator', Enabled: false });
    const uri = `${accounts}/ada@lab`;
    expect([created.status, created.headers.location, created.json]).toEqual([
      201,
      uri,
      {
        '@odata.id': uri,
        '@odata.type': '#ManagerAccount.v1_14_1.ManagerAccount',
        '@odata.context': '/redfish/v1/$metadata#ManagerAccount.ManagerAccount',
        Id: 'ada@lab',
        Name: 'User Account',
        UserName: 'ada@lab',
        Password: null,
        RoleId: 'Operator',
        Enabled: false,
        Locked: false,
        PasswordChangeRequired: false,
        AccountTypes: ['Redfish', 'HostConsole'],
        Links: { Role: { '@odata.id': `${roles}/Operator` } },
        '@Redfish.WriteableProperties': [
          'UserName',
          'Password',
          'RoleId',
          'Enabled',
          'Locked',
          'PasswordChangeRequired',
          'AccountTypes',
        ],
      },
    ]);
    expect((await fixture.client.get(uri, headersOf('admin'))).json).toEqual(created.json);
    expect((await fixture.logIn('ada@lab', 'ada’s own')).status).toBe(401);
    expect((await patch('ada@lab', { Enabled: true })).status).toBe(200);
    expect((await fixture.logIn('ada@lab', 'ada’s own')).status).toBe(201);
    const list = await fixture.client.get(accounts, headersOf('rick'));
    expect(list.json).toMatchObject({
      Members: ['admin', 'olga', 'rick', 'ada@lab'].map((user) => ({ '@odata.id': `${accounts}/${user}` })),
    });
  });

  it.each([
    [{ UserName: 'ada', Password: 'short', RoleId: 'ReadOnly' }, '400 StringValueTooShort PasswordIncorrectLength'],
    [{ UserName: 'ada', Password: 'x'.repeat(73), RoleId: 'ReadOnly' }, '400 PropertyValueError'],
    [{ UserName: 'a:b', Password: 'long enough', RoleId: 'ReadOnly' }, '400 PropertyValueError'],
    [{ UserName: 'ada\ud800', Password: 'long enough', RoleId: 'ReadOnly' }, '400 PropertyValueError'],
    [{ UserName: 'ada', Password: 'long enough', RoleId: 'Nurse' }, '400 PropertyValueNotInList'],
    [{ UserName: 'rick', Password: 'long enough', RoleId: 'ReadOnly' }, '400 ResourceAlreadyExists'],
    [{ UserName: 'ada', Password: 'long enough' }, '400 PropertyMissing'],
    [{ UserName: 'ada', Password: 'long enough', RoleId: 'ReadOnly', Foo: 1 }, '400 PropertyUnknown'],
    [
      { UserName: 'ada', Password: 'long enough', RoleId: 'ReadOnly', AccountTypes: ['SNMP'] },
      '400 PropertyValueNotInList',
    ],
  ])('are not created from %j: the answer is %s', async (body, expected) => {
    const before = readFileSync(fixture.file, 'utf8');
    const answer = await post(body);
    expect(statusAndKeys(answer)).toBe(expected);
    expect(answer.text).not.toMatch(/long enough|short"|xxxx/);
    expect(readFileSync(fixture.file, 'utf8')).toBe(before);
  });

  it('are not created without the account type Redfish, and the answer has the reason', async () => {
    const answer = await post({ UserName: 'ada', Password: 'long enough', RoleId: 'ReadOnly', AccountTypes: [] });
    expect(statusAndKeys(answer)).toBe('400 PropertyValueError');
    expect(answer.text).toContain('The list must contain Redfish, and each type only once.');
  });

  it('cannot lose their last administrator who can log in', async () => {
    for (const body of [{ RoleId: 'Operator' }, { Enabled: false }])
      expect(statusAndKeys(await patch('admin', body))).toBe('409 AccountNotModified');
    expect(
      statusAndKeys(await fixture.client.send('DELETE', `${accounts}/admin`, { headers: headersOf('admin') })),
    ).toBe('409 AccountNotModified');
    expect((await patch('rick', { RoleId: 'Administrator' })).status).toBe(200);
    expect((await fixture.client.send('DELETE', `${accounts}/admin`, { headers: headersOf('rick') })).status).toBe(204);
    expect((await fixture.client.get(fixture.machine, headersOf('admin'))).status).toBe(401);
  });

  it('lose their sessions when they are disabled, even if they are enabled again at once', async () => {
    const token = tokenHeader(await fixture.logIn('rick', USERS.rick));
    expect((await patch('rick', { Enabled: false })).status).toBe(200);
    expect((await patch('rick', { Enabled: true })).status).toBe(200);
    expect((await fixture.client.get(fixture.machine, token)).status).toBe(401);
    expect((await fixture.logIn('rick', USERS.rick)).status).toBe(201);
  });

  it('get another URI and lose their sessions when they are renamed', async () => {
    const token = tokenHeader(await fixture.logIn('rick', USERS.rick));
    const renamed = await patch('rick', { UserName: 'ron', RoleId: 'Operator' });
    const uri = `${accounts}/ron`;
    expect([renamed.status, renamed.headers.location, renamed.json]).toEqual([
      200,
      uri,
      (await fixture.client.get(uri, headersOf('admin'))).json,
    ]);
    expect(renamed.json).toMatchObject({ '@odata.id': uri, Id: 'ron', UserName: 'ron', RoleId: 'Operator' });
    expect((await fixture.client.get(`${accounts}/rick`, headersOf('admin'))).status).toBe(404);
    expect((await fixture.client.get(fixture.machine, token)).status).toBe(401);
    expect([(await fixture.logIn('ron', USERS.rick)).status, (await fixture.logIn('rick', USERS.rick)).status]).toEqual(
      [201, 401],
    );
    expect(statusAndKeys(await patch('ron', { UserName: 'olga' }))).toBe('400 ResourceAlreadyExists');
    expect(statusAndKeys(await patch('ron', { UserName: 'a:b' }))).toBe('400 PropertyValueError');
    // ConfigureSelf allows users to change only their own password, not their name.
    const own = await fixture.client.send('PATCH', `${accounts}/olga`, {
      headers: headersOf('olga'),
      body: { UserName: 'o' },
    });
    expect(statusAndKeys(own)).toBe('403 InsufficientPrivilege');
  });

  it('cannot be locked by a client', async () => {
    expect(statusAndKeys(await patch('rick', { Locked: true }))).toBe('400 PropertyValueNotInList');
  });

  it('are not created if the password file cannot be written, and the error names the file and the reason', async () => {
    rmSync(fixture.folder, { recursive: true });
    const answer = await post({ UserName: 'ada', Password: 'long enough', RoleId: 'ReadOnly' });
    expect(statusAndKeys(answer)).toBe('500 OperationFailed');
    expect(answer.text).toContain(`Writing ${fixture.file}: there is no such file.`);
    expect(fixture.outcomes.at(-1)?.error).toMatchObject({ name: 'PasswordFileWriteError' });
  });

  it('are locked after AccountLockoutThreshold wrong passwords; an administrator can unlock them', async () => {
    const service = `${root}/AccountService`;
    const settings = { AccountLockoutThreshold: 2, AccountLockoutDuration: 60, AccountLockoutCounterResetAfter: 60 };
    const patchService = (body: object) => fixture.client.send('PATCH', service, { headers: headersOf('admin'), body });
    expect(statusAndKeys(await patchService({ AccountLockoutCounterResetAfter: 301 }))).toBe(
      '400 PropertyValueConflict',
    );
    expect((await patchService(settings)).json).toEqual({
      '@odata.id': service,
      '@odata.type': '#AccountService.v1_18_1.AccountService',
      '@odata.context': '/redfish/v1/$metadata#AccountService.AccountService',
      Id: 'AccountService',
      Name: 'Account Service',
      ServiceEnabled: true,
      Status: { State: 'Enabled', Health: 'OK' },
      ...settings,
      AccountLockoutCounterResetEnabled: true,
      MinPasswordLength: 8,
      MaxPasswordLength: 72,
      LocalAccountAuth: 'Enabled',
      HTTPBasicAuth: 'Enabled',
      SupportedAccountTypes: ['Redfish', 'HostConsole'],
      Accounts: { '@odata.id': accounts },
      Roles: { '@odata.id': roles },
      '@Redfish.WriteableProperties': [
        'AccountLockoutThreshold',
        'AccountLockoutDuration',
        'AccountLockoutCounterResetAfter',
        'AccountLockoutCounterResetEnabled',
        'MinPasswordLength',
        'HTTPBasicAuth',
      ],
    });
    await fixture.logIn('rick', 'wrong');
    await fixture.client.get(fixture.machine, basic('rick', 'wrong, too'));
    expect((await fixture.logIn('rick', USERS.rick)).status).toBe(401);
    expect(fixture.outcomes.at(-1)?.refused).toBe('the account is locked, user rick');
    expect((await fixture.client.get(`${accounts}/rick`, headersOf('admin'))).json).toMatchObject({ Locked: true });
    expect((await patch('rick', { Locked: false })).json).toMatchObject({ Locked: false });
    expect((await fixture.logIn('rick', USERS.rick)).status).toBe(201);
  });

  it('can be read, changed and removed if their name is the reserved Members, but not created with this name', async () => {
    fixture.htpasswd('Members', 'an old password');
    fixture.advance(60_000);
    const uri = `${accounts}/Members`;
    const send = (method: string, body?: object) =>
      fixture.client.send(method, uri, { headers: headersOf('admin'), ...(body === undefined ? {} : { body }) });
    expect((await fixture.client.get(uri, headersOf('admin'))).json).toMatchObject({
      '@odata.id': uri,
      UserName: 'Members',
    });
    expect((await send('PATCH', { Enabled: false })).json).toMatchObject({ Enabled: false });
    const refused = await send('POST', { UserName: 'Members', Password: 'long enough', RoleId: 'ReadOnly' });
    expect(refused.status).toBe(400);
    expect(statusAndKeys(await fixture.client.send('DELETE', uri, { headers: headersOf('rick') }))).toBe(
      '403 InsufficientPrivilege',
    );
    expect((await send('DELETE')).status).toBe(204);
    expect((await fixture.client.get(uri, headersOf('admin'))).status).toBe(404);
    // Accounts/Members is also the URI to which clients POST new accounts.
    const created = await send('POST', { UserName: 'ada', Password: 'long enough', RoleId: 'ReadOnly' });
    expect([created.status, created.headers.location]).toEqual([201, `${accounts}/ada`]);
  });

  it('log in only by session if HTTPBasicAuth is Disabled; Disabled and Unadvertised remove the Basic challenge', async () => {
    const service = `${root}/AccountService`;
    const admin = tokenHeader(await fixture.logIn('admin', USERS.admin));
    const setBasicAuth = (HTTPBasicAuth: string) =>
      fixture.client.send('PATCH', service, { headers: admin, body: { HTTPBasicAuth } });
    expect((await setBasicAuth('Unadvertised')).status).toBe(200);
    expect((await fixture.client.get(fixture.machine, headersOf('rick'))).status).toBe(200);
    expect((await fixture.client.get(fixture.machine)).headers['www-authenticate']).toBe('Session realm="Rackless"');
    expect((await setBasicAuth('Disabled')).status).toBe(200);
    expect(statusAndKeys(await fixture.client.get(fixture.machine, headersOf('rick')))).toBe('401 AccessUnauthorized');
    expect((await fixture.logIn('rick', 'wrong')).headers['www-authenticate']).toBe('Session realm="Rackless"');
    expect(
      (await fixture.client.get(fixture.machine, tokenHeader(await fixture.logIn('rick', USERS.rick)))).status,
    ).toBe(200);
    expect(statusAndKeys(await setBasicAuth('Sometimes'))).toBe('400 PropertyValueNotInList');
  });
});
