/**
 * Tests servers of other projects. With an administrator's token, Nova shows and powers every server by its id. So
 * the daemon must check the project.
 */
import { expect, it } from '@jest/globals';
import { sendJson } from '../../support/cloud-server.js';
import { idOf } from '../../support/listed-servers.js';
import { servedCloud } from '../../support/served-cloud.js';
import type { Served } from '../../support/served-resources.js';

const cloud = servedCloud();
const own = `/redfish/v1/Systems/${idOf(1)}`;
const foreign = `/redfish/v1/Systems/${idOf(2)}`;
const listedSystems = async ({ get }: Served): Promise<unknown> => (await get('/redfish/v1/Systems'))['Members'];

/** Adds a server of the daemon's own project, and a server of another project. `parts` change the second. */
function putBoth(parts: Record<string, unknown> = {}): void {
  cloud.servers.put(1);
  cloud.servers.put(2, { tenant_id: 'other', ...parts });
}

/** Returns the requests for the server of the other project that are not reads. */
const writes = () =>
  cloud.api.requests.filter((line) => line.includes(`/servers/${idOf(2)}`) && !line.startsWith('GET '));

it('the service answers 404 to reads of a server of another project, and does not add it to the list', async () => {
  putBoth();
  const served = await cloud.serve();
  for (const path of ['', '/Bios', '/Processors', '/Storage', '/EthernetInterfaces', '/VirtualMedia/Cd']) {
    expect([path, (await served.send('GET', foreign + path)).status]).toEqual([path, 404]);
  }
  for (const log of ['ActionLog', 'ConsoleLog']) {
    const { status } = await served.send('GET', `${foreign}/LogServices/${log}/Entries`);
    expect([log, status]).toEqual([log, 404]);
  }
  expect(await listedSystems(served)).toEqual([{ '@odata.id': own }]);
  expect([(await served.send('GET', own)).status, writes()]).toEqual([200, []]);
});

it.each([
  ['runs', {}],
  ['is off', { 'OS-EXT-STS:vm_state': 'stopped', 'OS-EXT-STS:power_state': 4 }],
  ['runs an image', { 'OS-EXT-STS:vm_state': 'rescued', metadata: { 'rackless:state': '{"cd":"i","after":"req-1"}' } }],
  ['has a cell that is down', { status: 'UNKNOWN', 'OS-EXT-STS:vm_state': undefined }],
  ['has an unexpected form', { flavor: null }],
])('the service sends no action to a server of another project that %s', async (_, parts) => {
  putBoth(parts);
  const served = await cloud.serve();
  const types = ['On', 'ForceOff', 'GracefulShutdown', 'ForceRestart', 'GracefulRestart', 'Nmi', 'Pause', 'Suspend'];
  for (const type of types) {
    const { status } = await served.send('POST', `${foreign}/Actions/ComputerSystem.Reset`, { ResetType: type });
    expect([type, status]).toEqual([type, 404]);
  }
  const drive = `${foreign}/VirtualMedia/Cd`;
  const insert = { Image: 'http://127.0.0.1:1/boot.iso' };
  const others = [
    await served.send('POST', `${drive}/Actions/VirtualMedia.InsertMedia`, insert),
    await served.send('POST', `${drive}/Actions/VirtualMedia.EjectMedia`, {}),
    await served.send('PATCH', foreign, { Boot: { BootSourceOverrideTarget: 'Cd' } }),
    await served.send('PATCH', foreign, { AssetTag: 'rack 7' }),
  ];
  expect([others.map(({ status }) => status), writes()]).toEqual([[404, 404, 404, 404], []]);
});

it('the service reads no console, no log and no statistics of a server of another project', async () => {
  putBoth();
  const { driver } = await cloud.serve();
  const { statistics } = driver;
  if (statistics === undefined || !('of' in statistics)) throw new Error('the driver reads no single servers');
  const requests: readonly (() => Promise<unknown> | undefined)[] = [
    () => driver.graphicalConsole?.open(idOf(2)),
    () => driver.console?.open(idOf(2)),
    () => driver.logs?.consoleOutput(idOf(2)),
    () => driver.logs?.actions(idOf(2)),
    () => statistics.of(idOf(2)),
  ];
  for (const request of requests) await expect(request()).rejects.toMatchObject({ kind: 'notFound' });
  expect(writes()).toEqual([]);
});

it('the service does not serve servers of other projects, even if they are in a listing of Nova', async () => {
  putBoth();
  cloud.answer((_request, response, path) => {
    if (!path.startsWith('/servers/detail')) return false;
    sendJson(response, 200, { servers: [...cloud.servers.all.values()].map(({ body }) => body) });
    return true;
  });
  expect(await listedSystems(await cloud.serve())).toEqual([{ '@odata.id': own }]);
});

it.each([
  ['Nova does not name the projects of servers', undefined, 'p'],
  ['Keystone does not name the project of the token', 'other', undefined],
])('the service serves servers of all projects if %s', async (_, tenant, project) => {
  putBoth({ tenant_id: tenant });
  cloud.api.keystone = (request, response) => {
    request.resume();
    const endpoint = { interface: 'public', region_id: 'R1', url: `${cloud.api.url}/compute` };
    const catalog = [{ type: 'compute', endpoints: [endpoint] }];
    const token = { catalog, ...(project === undefined ? {} : { project: { id: project } }) };
    sendJson(response, 201, { token }, { 'x-subject-token': 'token' });
  };
  const served = await cloud.serve();
  const answer = await served.send('POST', `${foreign}/Actions/ComputerSystem.Reset`, { ResetType: 'ForceOff' });
  expect([answer.status, cloud.servers.actions]).toEqual([204, [{ 'os-stop': null }]]);
});
