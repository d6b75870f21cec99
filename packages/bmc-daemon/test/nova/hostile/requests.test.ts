/** Tests clients' requests while the cloud changes, or rejects requests, in the middle of an operation. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { waitFor } from '../../daemon/process.js';
import { sendJson } from '../../support/cloud-server.js';
import type { Glance } from '../../support/glance.js';
import { idOf } from '../../support/listed-servers.js';
import { servedCloud } from '../../support/served-cloud.js';
import type { Body, Served } from '../../support/served-resources.js';
import { startImageCloud } from '../image-cloud.js';
import type { Images } from '../media-lab.js';

const cloud = servedCloud();
let glance: Glance;
let images: Images;
beforeEach(async () => {
  ({ images, glance } = await startImageCloud(cloud));
});
afterEach(() => images.close());

const systemOf = (index: number): string => `/redfish/v1/Systems/${idOf(index)}`;
const reset = ({ send }: Served, index: number, type: string) =>
  send('POST', `${systemOf(index)}/Actions/ComputerSystem.Reset`, { ResetType: type });
const insert = ({ send }: Served, index: number) =>
  send('POST', `${systemOf(index)}/VirtualMedia/Cd/Actions/VirtualMedia.InsertMedia`, {
    Image: `${images.url}/boot.iso`,
  });
const eject = ({ send }: Served, index: number) =>
  send('POST', `${systemOf(index)}/VirtualMedia/Cd/Actions/VirtualMedia.EjectMedia`, {});

it('the service lists all servers with a token for each page, if each token expires after a page', async () => {
  for (let index = 1; index <= 2500; index += 1) cloud.servers.put(index, {}, 0);
  let valid = 1;
  cloud.answer((request, response, path) => {
    if (request.headers['x-auth-token'] !== `token-${valid}`) {
      sendJson(response, 401, {});
      return true;
    }
    if (path.includes('/servers/detail')) valid += 1;
    return false;
  });
  const { get } = await cloud.serve();
  expect((await get('/redfish/v1/Systems'))['Members']).toHaveLength(2500);
  expect(cloud.logged).toEqual([]);
});

it.each([
  ["Cannot 'stop' instance X while it is in task_state powering-off", 'active', null, 503],
  ["Cannot 'stop' instance X while it is in vm_state rescued", 'active', null, 409],
  ['Instance X is locked', 'active', null, 409],
  ['Instance X is not ready', 'building', 'spawning', 503],
  ['Instance X is not ready', 'error', null, 409],
  ['', 'active', null, 409],
])('the service answers a ForceOff if Nova says "%s" (%s, task %s) with %d', async (message, vmState, task, status) => {
  cloud.servers.put(1, { 'OS-EXT-STS:vm_state': vmState, 'OS-EXT-STS:task_state': task });
  cloud.answer((_request, response, path) => {
    if (!path.endsWith('/action')) return false;
    sendJson(response, 409, { conflictingRequest: { code: 409, message } });
    return true;
  });
  expect((await reset(await cloud.serve(), 1, 'ForceOff')).status).toBe(status);
});

it('the service answers 404 if a server is deleted between two requests', async () => {
  const served = await cloud.serve();
  const requests: readonly ((index: number) => Promise<{ readonly status: number }>)[] = [
    (index) => served.send('GET', systemOf(index)),
    (index) => served.send('GET', `${systemOf(index)}/LogServices/ConsoleLog/Entries`),
    (index) => served.send('GET', `${systemOf(index)}/Bios`),
    (index) => reset(served, index, 'ForceOff'),
    (index) => served.send('PATCH', systemOf(index), { Boot: { BootSourceOverrideTarget: 'Cd' } }),
    (index) => insert(served, index),
    (index) => eject(served, index),
  ];
  for (const [position, request] of requests.entries()) {
    const index = position + 10;
    cloud.servers.put(index);
    // The daemon may answer with a listing of the second before, so the test waits for the new server.
    await waitFor(
      async () => (JSON.stringify(await served.get('/redfish/v1/Systems')).includes(idOf(index)) ? true : undefined),
      () => `the service does not list server ${index}`,
    );
    cloud.servers.all.delete(idOf(index));
    expect([position, (await request(index)).status]).toEqual([position, 404]);
  }
});

it('the service answers 404 if a server is deleted while Nova executes its action', async () => {
  cloud.answer((_request, response, path) => {
    if (!path.endsWith('/action')) return false;
    cloud.servers.all.delete(idOf(1));
    response.writeHead(202).end();
    return true;
  });
  expect((await reset(await cloud.serve(), 1, 'ForceOff')).status).toBe(404);
});

it("the service boots and stops a server if Glance allows no changes, and reports Glance's error for an insert", async () => {
  const cd = glance.put({ rackless_url: `${images.url}/boot.iso` });
  cloud.servers.put(1, {
    metadata: { 'rackless:state': JSON.stringify({ cd, enabled: 'continuous', target: 'cdrom' }) },
  });
  cloud.servers.put(2);
  cloud.api.others.set('image', (request, response, path) => {
    if (request.method === 'GET') glance.handler(request, response, path);
    else request.resume().on('end', () => response.writeHead(403).end('<h1>403 Forbidden</h1>'));
  });
  const served = await cloud.serve();
  const refused = await insert(served, 2);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([400, expect.stringContaining('Glance answers 403')]);
  expect((await reset(served, 1, 'ForceRestart')).status).toBe(204);
  expect(cloud.servers.actions).toEqual([{ rescue: { rescue_image_ref: cd } }]);
  // Nova stores no settings while the server runs the image. So this eject needs a change in Glance, and fails.
  const locked = await eject(served, 1);
  expect([locked.status, JSON.stringify(locked.body)]).toEqual([400, expect.stringContaining('Glance answers 403')]);
  expect((await reset(served, 1, 'ForceOff')).status).toBe(204);
  expect((await eject(served, 1)).status).toBe(204);
  expect((await served.get(`${systemOf(1)}/VirtualMedia/Cd`))['Inserted']).toBe(false);
});

it.each(['ftp://cloud', 'file:///etc/passwd', 'javascript:0', 'http://['])(
  'the service does not start if the catalog has the URL %s for Nova, and names the setting to change',
  async (url) => {
    cloud.api.keystone = (request, response) => {
      request.resume();
      const catalog = [{ type: 'compute', endpoints: [{ interface: 'public', region_id: 'R1', url }] }];
      sendJson(response, 201, { token: { catalog } }, { 'x-subject-token': 'token' });
    };
    await expect(cloud.serve()).rejects.toThrow(
      `compute_endpoint_override must be set to a URL with http or https: the catalog has '${url}' for compute`,
    );
  },
);

it('the service shows the servers even if the catalog has endpoints of an unexpected form, and no Glance', async () => {
  const compute = { interface: 'public', region_id: 'R1', url: `${cloud.api.url}/compute` };
  cloud.api.keystone = (request, response) => {
    request.resume();
    const endpoints = [null, 7, { url: 1 }, compute];
    const catalog = [null, { type: 'image' }, { type: 'compute', endpoints }];
    sendJson(response, 201, { token: { catalog } }, { 'x-subject-token': 'token' });
  };
  const served = await cloud.serve();
  expect((await served.get('/redfish/v1/Systems'))['Members'] as Body[]).toHaveLength(1);
  const refused = await insert(served, 1);
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([400, expect.stringContaining('no image service')]);
});

/** Lets the cloud's catalog have the URL `ftp://cloud` for a service. */
function breakUrl(type: 'image' | 'volumev3'): void {
  const endpointsOf = (url: string) => [{ interface: 'public', region_id: 'R1', url }];
  cloud.api.keystone = (request, response) => {
    request.resume();
    const catalog = [
      { type, endpoints: endpointsOf('ftp://cloud') },
      { type: 'compute', endpoints: endpointsOf(`${cloud.api.url}/compute`) },
    ];
    sendJson(response, 201, { token: { catalog } }, { 'x-subject-token': 'token' });
  };
}

it('the service warns about an invalid URL of Glance in the catalog at its start, and rejects inserts with 503', async () => {
  breakUrl('image');
  const served = await cloud.serve();
  const fault =
    'image_endpoint_override must be set to a URL with http or https: ' + "the catalog has 'ftp://cloud' for image";
  const logged = (): string => JSON.stringify(cloud.logged);
  await waitFor(
    () => (logged().includes(`clients cannot insert images: clouds.yaml:3: ${fault}`) ? true : undefined),
    () => `the log lacks the fault: ${logged()}`,
  );
  expect((await insert(served, 1)).status).toBe(503);
  expect((await served.send('GET', systemOf(1))).status).toBe(200);
});

it.each([
  ['image', {}],
  ['volumev3', { image: '', 'os-extended-volumes:volumes_attached': [{ id: idOf(7) }] }],
] as const)('the service shows a server if the catalog has an invalid URL of the type %s', async (type, server) => {
  breakUrl(type);
  cloud.servers.put(1, server);
  const { send } = await cloud.serve();
  for (const path of ['', '/Bios', '/SecureBoot', '/Processors', '/Storage', '/VirtualMedia/Cd'])
    expect([path, (await send('GET', systemOf(1) + path)).status]).toEqual([path, 200]);
});
