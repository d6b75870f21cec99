/**
 * Tests thousands of servers, with a fake Nova in this process, because the lab has no room for so many
 * servers.
 */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createTestLog } from '../../../daemon/test/support/log.js';
import type { HypervisorDriver } from '../../src/drivers/driver.js';
import { createNovaDriver } from '../../src/drivers/nova/nova-driver.js';
import { waitFor } from '../daemon/process.js';
import { mediaSettings, settingsFor, startCloudServer, type CloudServer } from '../support/cloud-server.js';
import { idOf, listServers, type ListedServers } from '../support/listed-servers.js';
import { serveResources, type Body, type Served, type ServedAnswer } from '../support/served-resources.js';

const COUNT = 5000;
/** The daemon must use fewer connections. Without its limit, each request would have its own connection. */
const MANY_CONNECTIONS = 64;
let cloud: CloudServer;
let served: Served | undefined;

beforeEach(async () => {
  cloud = await startCloudServer();
});
afterEach(async () => {
  await served?.close();
  served = undefined;
  await cloud.close();
});

interface Many {
  readonly served: Served;
  readonly driver: HypervisorDriver;
  readonly servers: ListedServers;
}

async function serveMany(count: number, timeoutMs: number): Promise<Many> {
  const servers = listServers(cloud);
  for (let index = 0; index < count; index += 1) servers.put(index, {}, 0);
  const log = createTestLog({ level: 'error', format: 'json', write: () => undefined });
  const driver = createNovaDriver({ cloud: settingsFor(cloud.url), filter: {}, timeoutMs, media: mediaSettings, log });
  await driver.start();
  served = await serveResources(driver);
  return { served, driver, servers };
}

const singleReads = (): readonly string[] =>
  cloud.requests.filter((line) => /GET .*\/servers\/[0-9a-f-]{36}$/.test(line));

const reset = (served: Served, index: number, type: string): Promise<ServedAnswer> =>
  served.send('POST', `/redfish/v1/Systems/${idOf(index)}/Actions/ComputerSystem.Reset`, { ResetType: type });

it('the daemon lists 5,000 servers, and expands them without a request for each server', async () => {
  const { served } = await serveMany(COUNT, 120_000);
  expect((await served.get('/redfish/v1/Systems'))['Members']).toHaveLength(COUNT);
  const { Members: members } = await served.get('/redfish/v1/Systems?$expand=.');
  expect((members as Body[]).map((member) => member['Name']).slice(0, 2)).toEqual(['server-0', 'server-1']);
  expect((members as Body[]).filter((member) => member['PowerState'] === 'On')).toHaveLength(COUNT);
  const listings = cloud.requests.filter((line) => line.includes('/servers'));
  expect(listings.filter((line) => !line.includes('/servers/detail'))).toEqual([]);
  // The first listing has five pages. Each later one asks for changes only.
  expect(listings.filter((line) => !line.includes('changes-since'))).toHaveLength(5);
  expect((await served.get(`/redfish/v1/Systems/${idOf(4999)}`))['Name']).toBe('server-4999');
});

it('the daemon sends at most one request in ten seconds to Nova while it has no clients', async () => {
  await serveMany(1000, 120_000);
  const begun = performance.now();
  cloud.requests.length = 0;
  await waitFor(
    () => Promise.resolve(cloud.requests.length >= 2 ? true : undefined),
    () => `the daemon does not look for changes: ${cloud.requests.join(', ')}`,
  );
  // The second request comes at the end of two intervals of ten seconds. 2 s are a tolerance.
  expect(performance.now() - begun).toBeGreaterThan(18_000);
  expect(cloud.requests.filter((line) => !line.includes('changes-since'))).toEqual([]);
});

it('the daemon executes 1,000 simultaneous power actions over a few connections', async () => {
  // Calls the driver directly: 1,000 simultaneous connections of clients may be more than the host allows.
  const { driver, servers } = await serveMany(1000, 240_000);
  const ids = Array.from({ length: 1000 }, (_, index) => idOf(index));
  await Promise.all(ids.map((id) => driver.power(id, 'destroy')));
  expect([...servers.all.values()].filter(({ body }) => body['OS-EXT-STS:vm_state'] !== 'stopped')).toEqual([]);
  const actions = cloud.requests.filter((line) => line.endsWith('/action'));
  expect([actions.length, new Set(actions).size]).toEqual([1000, 1000]);
  // At most 16 connections have a request. The other connections are idle or close.
  expect(cloud.mostConnections()).toBeLessThan(MANY_CONNECTIONS);
});

it('the daemon waits for many power actions with shared listings, not with a request for each server', async () => {
  const count = 50;
  const { driver, servers } = await serveMany(count, 240_000);
  const ids = Array.from({ length: count }, (_, index) => idOf(index));
  const { nova } = cloud;
  const tasks: string[] = [];
  let listings = 0;
  cloud.nova = (request, response, path) => {
    // The tasks end only after the daemon has listed the servers five times.
    if (path.startsWith('/servers/detail')) {
      listings += 1;
      if (tasks.length === count && listings > 5) {
        const ended = { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 };
        ids.forEach((_, index) => servers.put(index, ended));
      }
    }
    if (!path.endsWith('/action')) {
      nova(request, response, path);
      return;
    }
    const id = path.split('/')[2] ?? '';
    tasks.push(id);
    servers.put(ids.indexOf(id), { 'OS-EXT-STS:task_state': 'powering-off' });
    request.resume().on('end', () => response.writeHead(202).end());
  };
  cloud.requests.length = 0;
  await Promise.all(ids.map((id) => driver.power(id, 'destroy')));
  // Only the first and the last operations read their own servers. The others use listings.
  expect([tasks.length, singleReads().length < count]).toEqual([count, true]);
});

it('the daemon reads only metadata before many boots, and a server completely only if it has stored settings', async () => {
  const count = 50;
  const { driver, servers } = await serveMany(count, 240_000);
  const off = { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 };
  const ids = Array.from({ length: count }, (_, index) => idOf(index));
  ids.forEach((_, index) => servers.put(index, off));
  await driver.listSystems();
  // Simulates a setting of another daemon: stores a setting, hides it from this driver, and restores it. The
  // restored server has no time of change, so no listing of changes reports it.
  await driver.change(idOf(30), { assetTag: 'rack 7' });
  const stored = servers.all.get(idOf(30))?.body['metadata'];
  servers.put(30, { ...off, metadata: {} });
  await driver.getSystem(idOf(30));
  servers.put(30, { ...off, metadata: stored }, 0);
  cloud.requests.length = 0;
  await Promise.all(ids.map((id) => driver.power(id, 'create')));
  expect([...servers.all.values()].filter(({ body }) => body['OS-EXT-STS:vm_state'] !== 'active')).toEqual([]);
  expect(singleReads().length).toBeLessThan(count);
  const ofServer30 = cloud.requests
    .filter((line) => line.includes(idOf(30)))
    .map((line) => line.replace(/.*servers./, ''));
  expect(ofServer30.slice(0, 3)).toEqual([`${idOf(30)}/metadata`, idOf(30), `${idOf(30)}/action`]);
});

it('the daemon powers servers off although the listings of changes fail', async () => {
  const count = 10;
  const { driver, servers } = await serveMany(count, 240_000);
  const { nova } = cloud;
  cloud.nova = (request, response, path) => {
    if (path.includes('changes-since')) response.writeHead(500).end('{}');
    else nova(request, response, path);
  };
  await Promise.all(Array.from({ length: count }, (_, index) => driver.power(idOf(index), 'destroy')));
  expect([...servers.all.values()].filter(({ body }) => body['OS-EXT-STS:vm_state'] !== 'stopped')).toEqual([]);
});

it('the daemon sends no action of an operation that is cancelled while it waits for a listing', async () => {
  const count = 10;
  const { driver, servers } = await serveMany(count, 240_000);
  const { nova } = cloud;
  const cancel = new AbortController();
  cloud.nova = (request, response, path) => {
    if (path.includes('changes-since')) cancel.abort(new Error('cancelled'));
    nova(request, response, path);
  };
  const ended = await Promise.allSettled(
    Array.from({ length: count }, (_, index) => driver.power(idOf(index), 'destroy', { signal: cancel.signal })),
  );
  const reasons = ended.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []));
  expect([new Set(reasons), servers.actions.length]).toEqual([new Set(['Error: cancelled']), 4]);
  // The first four operations read their own servers instead of waiting for a listing. They may be complete.
  expect(reasons.length).toBeGreaterThanOrEqual(count - 4);
});

it('the daemon needs only two reads of a server for a reset if a listing has shown the server before', async () => {
  const { served } = await serveMany(1, 120_000);
  cloud.requests.length = 0;
  expect((await reset(served, 0, 'ForceOff')).status).toBe(204);
  // The first read decides about the action, and the second sees its result.
  expect(singleReads()).toHaveLength(2);
});

it('the daemon answers 503 to many resets while the cloud hangs, and needs only a few connections for them', async () => {
  const { served } = await serveMany(50, 1000);
  cloud.nova = () => undefined;
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => reset(served, index, 'ForceOff')));
  const seen = new Set(answers.map((answer) => `${answer.status} ${served.messages(answer).join(' ')}`));
  expect([...seen]).toEqual(['503 ServiceTemporarilyUnavailable']);
  expect(cloud.mostConnections()).toBeLessThan(MANY_CONNECTIONS);
});

it('the daemon executes a reset even if another client changed the state after the daemon had read it', async () => {
  const { served, servers } = await serveMany(1, 120_000);
  const off = { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 };
  for (const { outside, type, result } of [
    { outside: off, type: 'On', result: 'active' },
    { outside: {}, type: 'ForceOff', result: 'stopped' },
  ]) {
    servers.put(0, result === 'active' ? {} : off);
    await served.get(`/redfish/v1/Systems/${idOf(0)}`);
    servers.put(0, outside);
    expect((await reset(served, 0, type)).status).toBe(204);
    expect(servers.all.get(idOf(0))?.body['OS-EXT-STS:vm_state']).toBe(result);
  }
});
