/** Tests power actions with a cloud that answers late, or not at all. */
import { expect, it } from '@jest/globals';
import { waitFor } from '../../daemon/process.js';
import { idOf } from '../../support/listed-servers.js';
import { servedCloud } from '../../support/served-cloud.js';
import type { Body, Served } from '../../support/served-resources.js';

const cloud = servedCloud();
const systemOf = (index: number): string => `/redfish/v1/Systems/${idOf(index)}`;
const reset = ({ send }: Served, index: number, type: string) =>
  send('POST', `${systemOf(index)}/Actions/ComputerSystem.Reset`, { ResetType: type });

it('the service shows PoweringOff as soon as Nova has accepted a stop, although an older listing arrives later', async () => {
  for (const index of [1, 2, 3, 4, 5, 6]) cloud.servers.put(index);
  const served = await cloud.serve();
  const { nova } = cloud.api;
  let holdsListing = false;
  let sendListing: (() => void) | undefined;
  let accept: (() => void) | undefined;
  cloud.answer((request, response, path) => {
    if (path.startsWith('/servers/detail')) {
      if (!holdsListing || sendListing !== undefined) return false;
      const end = response.end.bind(response);
      response.end = (...body: unknown[]) => {
        sendListing = () => void end(...(body as [string])); // the cloud sends a text
        return response;
      };
      nova(request, response, path);
      return true;
    }
    if (!path.endsWith('/action')) return false;
    const id = path.split('/')[2] ?? '';
    const answer = (): void => {
      cloud.servers.put(Number(id.slice(-12)), { 'OS-EXT-STS:task_state': 'powering-off' });
      response.writeHead(202).end();
    };
    if (id === idOf(1)) accept = answer;
    request.resume().on('end', () => (id === idOf(1) ? undefined : answer()));
    return true;
  });
  const powerOf = async (index: number): Promise<unknown> => (await served.get(systemOf(index)))['PowerState'];
  const listedPowerState = async (): Promise<unknown> => {
    const { Members: members } = await served.get('/redfish/v1/Systems?$expand=.');
    return (members as Body[]).find(({ Id: id }) => id === idOf(1))?.['PowerState']; // a collection has objects
  };
  // Many operations share their listings, so none of them reads its own server after its action.
  const ended = Promise.allSettled([1, 2, 3, 4, 5, 6].map((index) => served.driver.power(idOf(index), 'destroy')));
  const release = await waitFor(
    () => Promise.resolve(accept),
    () => 'Nova never gets the action',
  );
  // The daemon has just read the server, so it does not ask Nova again at once.
  expect(await powerOf(1)).toBe('On');
  holdsListing = true;
  const arrive = await waitFor(
    () => Promise.resolve(sendListing),
    () => 'the daemon never lists the servers again',
  );
  release();
  // The answer for server 2 arrives after Nova's answer to the action of server 1.
  expect(await powerOf(2)).toBe('PoweringOff');
  const shown = Promise.all([powerOf(1), listedPowerState()]);
  arrive();
  expect(await shown).toEqual(['PoweringOff', 'PoweringOff']);
  await served.driver.close();
  await ended;
});

it.each(['shelving_image_uploading', 'soft-deleting', 'powering-off', 'resize_prep', 'pausing'])(
  'the service answers 503 to On and sends no action while Nova executes the task %s',
  async (task) => {
    cloud.servers.put(1, { 'OS-EXT-STS:task_state': task });
    const served = await cloud.serve();
    expect((await served.get(systemOf(1)))['PowerState']).not.toBe('PoweringOn');
    const answer = await reset(served, 1, 'On');
    expect([answer.status, served.messages(answer)]).toEqual([503, ['ServiceTemporarilyUnavailable']]);
    expect(cloud.servers.actions).toEqual([]);
  },
);

it.each(['image_snapshot', 'image_uploading', 'updating_password', 'migrating', 'resize_confirming'])(
  'the service answers 204 to On of a running server and sends no action while Nova executes the task %s',
  async (task) => {
    cloud.servers.put(1, { 'OS-EXT-STS:task_state': task });
    const served = await cloud.serve();
    expect((await served.get(systemOf(1)))['PowerState']).toBe('On');
    const answer = await reset(served, 1, 'On');
    expect([answer.status, cloud.servers.actions]).toEqual([204, []]);
  },
);

it('the service answers a reset with 503, not with a task, while the cloud hangs, and never sends its action', async () => {
  for (const index of [1, 2]) cloud.servers.put(index);
  const served = await cloud.serve();
  const held: (() => void)[] = [];
  let isHanging = true;
  const { nova } = cloud.api;
  cloud.api.nova = (...request) => {
    if (isHanging) held.push(() => nova(...request));
    else nova(...request);
  };
  const answers = await Promise.all([reset(served, 1, 'ForceOff'), reset(served, 2, 'On')]);
  for (const answer of answers) {
    expect([answer.status, served.messages(answer)]).toEqual([503, ['ServiceTemporarilyUnavailable']]);
  }
  // The cloud recovers, and answers the requests that it has received.
  isHanging = false;
  for (const answer of held) answer();
  await waitFor(
    async () => ((await reset(served, 2, 'ForceOff')).status === 204 ? true : undefined),
    () => 'the reset never succeeds',
  );
  expect(cloud.servers.actions).toEqual([{ 'os-stop': null }]);
  expect((await served.get(systemOf(1)))['PowerState']).toBe('On');
});

it('the service waits at most 7 s for an action if the cloud hangs, and Nova may still execute it', async () => {
  cloud.servers.put(1);
  const served = await cloud.serve();
  let execute: (() => void) | undefined;
  let executed = 0;
  cloud.answer((request, response, path) => {
    // No answer to requests for consoles, which the daemon sends in the background.
    if (path.endsWith('/remote-consoles')) return true;
    if (execute !== undefined) return executed === 0;
    if (!path.endsWith('/action')) return false;
    request.resume();
    execute = () => {
      executed += 1;
      cloud.servers.put(1, { 'OS-EXT-STS:vm_state': 'paused', 'OS-EXT-STS:power_state': 3 });
      response.writeHead(202).end();
    };
    return true;
  });
  // The driver has just read the state, so the action is its first request.
  await served.driver.getSystem(idOf(1));
  const paused = served.driver.power(idOf(1), 'suspend');
  await expect(paused).rejects.toMatchObject({ kind: 'unavailable', message: expect.stringContaining('7 s') });
  execute?.();
  await waitFor(
    async () => ((await served.get(systemOf(1)))['PowerState'] === 'Paused' ? true : undefined),
    () => 'the server is never paused',
  );
  expect(executed).toBe(1);
});

it('the service answers 202 to a reset if Nova accepts its action after nine seconds, but answers other requests', async () => {
  cloud.servers.put(1);
  const served = await cloud.serve();
  cloud.answer((request, response, path) => {
    if (!path.endsWith('/action')) return false;
    // Nova accepts the action after nine seconds.
    request.resume();
    setTimeout(() => {
      cloud.servers.put(1, { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 });
      response.writeHead(202).end();
    }, 9000);
    return true;
  });
  expect((await reset(served, 1, 'ForceOff')).status).toBe(202);
  await waitFor(
    async () => ((await served.get(systemOf(1)))['PowerState'] === 'Off' ? true : undefined),
    () => 'the server is never off',
  );
});
