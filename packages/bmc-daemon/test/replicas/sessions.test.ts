/** Sessions and accounts of two replicas behind a balancer, with a real Redis. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { run, waitFor } from '../daemon/process.js';
import { admin, basic, logIn, read, root, send, sessions, statusOf } from './client.js';
import { ADMIN, startService, type Replica, type Service } from './replicas.js';

const accounts = `${root}/AccountService/Accounts`;

let service: Service;
let a: Replica;
let b: Replica;
beforeEach(async () => {
  service = await startService();
  [a, b] = await Promise.all([service.start(), service.start()]);
});
afterEach(() => service.stop());

it('a service accepts, lists and ends a session of one replica at the other replica', async () => {
  const { token, uri } = await logIn(a);
  expect(await statusOf(read(b, `${root}/Systems`, token))).toBe(200);
  const { body } = await read(b, sessions, token);
  expect(body['Members']).toEqual([{ '@odata.id': uri }]);
  expect((await read(b, uri, token)).body).toEqual((await read(a, uri, token)).body);
  expect(await statusOf(send(b, 'DELETE', uri, { headers: token }))).toBe(204);
  expect([await statusOf(read(a, sessions, token)), await statusOf(read(b, sessions, token))]).toEqual([401, 401]);
});

it('a service continues sessions when the replica that created them is killed', async () => {
  const { token, uri } = await logIn(a);
  await a.process.dispose();
  expect(await statusOf(read(b, uri, token))).toBe(200);
  const again = await service.start();
  expect(await statusOf(read(again, uri, token))).toBe(200);
});

it('a service applies changes of accounts at all replicas at once', async () => {
  const eve = { UserName: 'eve', Password: 'first words', RoleId: 'ReadOnly' };
  const created = await send(a, 'POST', accounts, { body: eve, headers: admin });
  expect(created.status).toBe(201);
  const { token } = await logIn(b, { UserName: eve.UserName, Password: eve.Password });
  const uri = `${accounts}/eve`;
  expect(await statusOf(read(a, root + '/Systems', token))).toBe(200);
  // A new password ends Eve's session and the old password, even at replicas that have used both
  // before.
  expect(await statusOf(read(b, uri, basic('eve', 'first words')))).toBe(200);
  expect(await statusOf(send(a, 'PATCH', uri, { body: { Password: 'second words' }, headers: admin }))).toBe(200);
  expect(await statusOf(read(b, uri, token))).toBe(401);
  expect(await statusOf(read(b, uri, basic('eve', 'first words')))).toBe(401);
  expect(await statusOf(read(b, uri, basic('eve', 'second words')))).toBe(200);
  expect(await statusOf(send(b, 'DELETE', uri, { headers: admin }))).toBe(204);
  expect(await statusOf(read(a, uri, basic('eve', 'second words')))).toBe(401);
});

it('a service never loses one of many changes that replicas make at the same time', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `role${index}`);
  const answers = await Promise.all(
    names.map((RoleId, index) =>
      send(index % 2 === 0 ? a : b, 'POST', `${root}/AccountService/Roles`, {
        body: { RoleId, AssignedPrivileges: ['Login'] },
        headers: admin,
      }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(names.map(() => 201));
  const { body } = await read(b, `${root}/AccountService/Roles`, admin);
  expect(body['Members']).toHaveLength(3 + names.length);
});

it('a service shows the same systems and accounts, with the same ETags, at both replicas', async () => {
  const uris = [root, `${root}/Systems`, `${root}/AccountService`, accounts, `${accounts}/admin`];
  const { body } = await read(a, `${root}/Systems`, admin);
  const [system] = body['Members'] as { readonly '@odata.id': string }[]; // The answer is a collection.
  for (const uri of [...uris, system?.['@odata.id'] ?? '']) {
    const [first, second] = await Promise.all([read(a, uri, admin), read(b, uri, admin)]);
    expect([uri, second.headers.get('etag')]).toEqual([uri, first.headers.get('etag')]);
    expect(second.body).toEqual(first.body);
  }
});

it('a replica without its store answers 503 to sessions and changes of accounts, but not to reads by Basic', async () => {
  const { token } = await logIn(a);
  expect(await statusOf(read(a, `${root}/Systems`, admin))).toBe(200);
  service.redis.pause();
  const [byToken, change, reading] = await Promise.all([
    read(a, `${root}/Systems`, token),
    send(a, 'PATCH', `${accounts}/admin`, { body: { Enabled: true }, headers: admin }),
    read(a, `${root}/Systems`, admin),
  ]);
  expect([byToken.status, byToken.headers.get('retry-after')]).toEqual([503, '5']);
  expect([change.status, change.headers.get('retry-after')]).toEqual([503, '5']);
  expect(reading.status).toBe(200);
  expect(await statusOf(send(a, 'POST', sessions, { body: ADMIN }))).toBe(503);
  service.redis.resume();
  await waitFor(
    async () => ((await statusOf(read(a, `${root}/Systems`, token))) === 200 ? true : undefined),
    () => 'the session does not continue',
  );
});

it('a service keeps the accounts, but not the sessions, when the store loses its content', async () => {
  const { token } = await logIn(a);
  const eve = { UserName: 'eve', Password: 'first words', RoleId: 'ReadOnly' };
  expect(await statusOf(send(a, 'POST', accounts, { body: eve, headers: admin }))).toBe(201);
  expect(
    await statusOf(send(a, 'PATCH', `${accounts}/admin`, { body: { Password: 'other words' }, headers: admin })),
  ).toBe(200);
  await service.redis.flush();
  const changed = basic('admin', 'other words');
  const withToken = await Promise.all([a, b].map((one) => statusOf(read(one, `${root}/Systems`, token))));
  expect(withToken).toEqual([401, 401]);
  // The password of the file must not return with a new replica.
  const again = await service.start();
  for (const replica of [a, b, again]) {
    expect(await statusOf(read(replica, `${accounts}/eve`, changed))).toBe(200);
    expect(await statusOf(read(replica, `${accounts}/eve`, admin))).toBe(401);
  }
  await a.process.dispose();
  expect(await statusOf(read(b, `${accounts}/eve`, changed))).toBe(200);
});

it('a replica does not start without its store, and reports the setting without the password', async () => {
  const { code, stdout, stderr } = await run(['--fake', '-i', '127.0.0.1', '-p', '0'], {
    env: { EMULATOR_SHARED_STORE: 'redis://:hidden-word@127.0.0.1:1/0' },
  });
  expect(code).not.toBe(0);
  const output = stdout + stderr;
  expect(output).toContain('EMULATOR_SHARED_STORE');
  expect(output).not.toContain('hidden-word');
});
