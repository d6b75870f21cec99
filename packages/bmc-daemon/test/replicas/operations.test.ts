/** Operations on one server at two replicas behind a balancer, with a real Redis. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { connectRedis, type RedisLink } from '@rackless/daemon/shared-store/redis-link.js';
import { waitFor } from '../daemon/process.js';
import { idOf } from '../support/listed-servers.js';
import { admin, read, root, send, statusOf } from './client.js';
import { startService, type Replica, type Service } from './replicas.js';
import { slowServers, type SlowServers } from './slow-servers.js';

const system = `${root}/Systems/${idOf(1)}`;
/** More reads than any test makes. */
const ENDLESS = 1e6;

let service: Service;
let seen: SlowServers;
let link: RedisLink;
let a: Replica;
let b: Replica;
beforeEach(async () => {
  service = await startService();
  seen = slowServers(service);
  link = await connectRedis(service.redis.url);
  // No answer is a task, so each one has the result.
  const lines = 'EMULATOR_TASK_AFTER_SECONDS = 600';
  [a, b] = await Promise.all([service.start(lines), service.start(lines)]);
});
afterEach(async () => {
  link.close();
  await service.stop();
});

const reset = (replica: Replica, ResetType = 'ForceRestart') =>
  send(replica, 'POST', `${system}/Actions/ComputerSystem.Reset`, { body: { ResetType }, headers: admin });
const boot = (replica: Replica, BootSourceOverrideTarget: string, BootSourceOverrideEnabled = 'Continuous') =>
  send(replica, 'PATCH', system, {
    body: { Boot: { BootSourceOverrideTarget, BootSourceOverrideEnabled } },
    headers: admin,
  });
/** Waits until this number of operations run or wait at all replicas. */
const queued = (count: number, kind: 'operation' | 'edit') =>
  waitFor(
    async () => {
      const key = `{bmc-daemon}:lease:queue:${kind}:${idOf(1)}`;
      return (await link.command(['ZCARD', key])) === count ? true : undefined;
    },
    () => `there are never ${count} operations`,
  );
/** Waits until Nova has accepted this number of writes. */
const untilWritten = (count: number) =>
  waitFor(
    () => (seen.writes.length >= count ? true : undefined),
    () => `Nova has only seen ${seen.writes.join()}`,
  );

it('a service runs one operation of a server at a time, no matter which replica gets the request', async () => {
  // More reads than a replica needs before it acts.
  seen.reads = 8;
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, index) => {
      const replica = index % 2 === 0 ? a : b;
      return statusOf(index % 3 === 0 ? boot(replica, index % 2 === 0 ? 'Cd' : 'Hdd') : reset(replica));
    }),
  );
  expect(seen.rejected).toEqual([]);
  expect(answers).toEqual(answers.map((_answer, index) => (index % 3 === 0 ? 200 : 204)));
  expect(seen.writes.filter((write) => write === 'reboot')).toHaveLength(4);
});

it('a service continues with the waiting operations when the replica of the running one is killed', async () => {
  seen.reads = ENDLESS;
  const lost = reset(a).catch(() => undefined);
  await untilWritten(1);
  const load = [boot(b, 'Cd'), reset(b), boot(b, 'Hdd')].map((answer) => statusOf(answer));
  // The second PATCH at B waits inside of B for the first one, so the shared queue has only two edits.
  await queued(2, 'edit');
  await queued(2, 'operation');
  expect(seen.writes).toEqual(['reboot']);
  seen.reads = 1;
  seen.finish();
  await a.process.dispose();
  await lost;
  const answers = await Promise.all(load);
  expect(answers).toEqual([200, 204, 200]);
  expect(seen.writes.filter((write) => write === 'reboot')).toHaveLength(2);
  expect(seen.writes).toHaveLength(4);
});

it('a replica does not continue to write to a server after another replica had its turn', async () => {
  expect(await statusOf(boot(a, 'Hdd', 'Once'))).toBe(200);
  seen.writes.length = 0;
  seen.reads = ENDLESS;
  const restart = reset(a);
  await untilWritten(1);
  // Next, A would end its own override. After its pause, A must not end the override of B.
  a.process.signal('SIGSTOP');
  expect(await statusOf(boot(b, 'Cd', 'Once'))).toBe(200);
  const writes = [...seen.writes];
  seen.finish();
  a.process.signal('SIGCONT');
  expect(await statusOf(restart)).toBe(503);
  expect(seen.writes).toEqual(writes);
});

it('a replica answers 503 to operations while its store does not answer, and still shows the server', async () => {
  service.redis.pause();
  const [operation, change, reading] = await Promise.all([reset(a), boot(a, 'Cd'), read(a, system, admin)]);
  expect([operation.status, operation.headers.get('retry-after')]).toEqual([503, '5']);
  expect([change.status, change.headers.get('retry-after')]).toEqual([503, '5']);
  expect(reading.status).toBe(200);
  expect(seen.writes).toEqual([]);
  service.redis.resume();
  await waitFor(
    async () => ((await statusOf(reset(a))) === 204 ? true : undefined),
    () => 'operations do not recover',
  );
});
