/** Tasks of two replicas behind a balancer, with a real Redis. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '../daemon/process.js';
import { idOf } from '../support/listed-servers.js';
import { admin, read, root, send, statusOf } from './client.js';
import { startService, type Replica, type Service } from './replicas.js';

const tasks = `${root}/TaskService/Tasks`;
const starting = {
  'OS-EXT-STS:vm_state': 'stopped',
  'OS-EXT-STS:power_state': 4,
  'OS-EXT-STS:task_state': 'powering-on',
};

let service: Service;
let a: Replica;
let b: Replica;
beforeEach(async () => {
  service = await startService();
  const lines = 'EMULATOR_TASK_AFTER_SECONDS = 0';
  [a, b] = await Promise.all([service.start(lines), service.start(lines)]);
});
afterEach(() => service.stop());

/** Begins a power-on that lasts until the server runs. @returns the URI of the monitor. */
async function beginPowerOn(replica: Replica): Promise<string> {
  service.servers.put(1, starting);
  const uri = `${root}/Systems/${idOf(1)}/Actions/ComputerSystem.Reset`;
  const { status, headers } = await send(replica, 'POST', uri, { body: { ResetType: 'On' }, headers: admin });
  expect(status).toBe(202);
  return headers.get('location') ?? '';
}
const taskOf = (monitor: string): string => monitor.replace('TaskMonitors', 'Tasks');
const members = async (replica: Replica) => (await read(replica, tasks, admin)).body['Members'];

it('a service lets clients read, await and delete a task of one replica at the other', async () => {
  const monitor = await beginPowerOn(a);
  expect(await members(b)).toEqual([{ '@odata.id': taskOf(monitor) }]);
  const [here, there] = await Promise.all([read(a, taskOf(monitor), admin), read(b, taskOf(monitor), admin)]);
  expect(there.body).toEqual(here.body);
  expect(await statusOf(read(b, monitor, admin))).toBe(202);
  service.servers.put(1);
  await waitFor(
    async () => ((await statusOf(read(b, monitor, admin))) === 204 ? true : undefined),
    () => 'the task does not end at the other replica',
  );
  expect(await statusOf(send(b, 'DELETE', taskOf(monitor), { headers: admin }))).toBe(204);
  expect([await members(a), await members(b)]).toEqual([[], []]);
});

it('a service lets clients cancel a task of one replica at the other', async () => {
  const monitor = await beginPowerOn(a);
  const { status } = await send(b, 'DELETE', monitor, { headers: admin });
  expect([202, 204]).toContain(status);
  await waitFor(
    async () => ((await read(a, taskOf(monitor), admin)).body['TaskState'] === 'Cancelled' ? true : undefined),
    () => 'the task is not cancelled',
  );
  expect(await statusOf(read(b, monitor, admin))).toBe(404);
});

it('a service ends the tasks of a killed replica as failed', async () => {
  const monitor = await beginPowerOn(a);
  await a.process.dispose();
  expect((await read(b, taskOf(monitor), admin)).body['TaskState']).toBe('Running');
  const failed = await waitFor(
    async () => {
      const { body } = await read(b, taskOf(monitor), admin);
      return body['TaskState'] === 'Exception' ? body : undefined;
    },
    () => 'the task still runs',
  );
  expect(failed['TaskStatus']).toBe('Critical');
  expect(JSON.stringify(failed['Messages'])).toContain('was interrupted');
  expect(await statusOf(read(b, monitor, admin))).toBe(500);
});
