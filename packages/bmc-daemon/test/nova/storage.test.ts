/**
 * Tests storage with clouds that have no Cinder, or a faulty, hostile or normal fake Cinder. lab.test.ts uses a
 * real Cinder.
 */
import { expect, it } from '@jest/globals';
import { sendJson, type NovaHandler } from '../support/cloud-server.js';
import { idOf } from '../support/listed-servers.js';
import { servedCloud } from '../support/served-cloud.js';
import type { Body, Served } from '../support/served-resources.js';

const cloud = servedCloud();

/**
 * Starts a daemon for the cloud.
 * @param cinder answers requests to Cinder; undefined: the cloud has no Cinder.
 */
async function serve(cinder?: NovaHandler): Promise<Served> {
  if (cinder !== undefined) cloud.api.others.set('volumev3', cinder);
  return await cloud.serve();
}

const volumeOf = (id: string, parts: object = {}) => ({
  volume: { id, name: `name of ${id}`, size: 5, bootable: 'false', attachments: [], ...parts },
});
const attached = (...ids: string[]) => ({ 'os-extended-volumes:volumes_attached': ids.map((id) => ({ id })) });
const storage = `/redfish/v1/Systems/${idOf(1)}/Storage`;
const cinderRequests = () => cloud.requestsTo('/volumev3');
// A collection contains links.
const members = (body: Body) => (body['Members'] as Body[]).map((link) => link['@odata.id']);

it('the service shows the disks of the flavor, and volumes with size and name', async () => {
  const flavor = { vcpus: 1, ram: 64, original_name: 'm1', disk: 20, ephemeral: 4, swap: 512 };
  cloud.servers.put(1, { flavor, ...attached('v1') });
  const { get } = await serve((_request, response, path) =>
    sendJson(response, 200, volumeOf(path.split('/')[2] ?? '')),
  );
  expect(members(await get(storage))).toEqual([`${storage}/local`, `${storage}/volume`]);
  expect(members(await get(`${storage}/local/Volumes`))).toHaveLength(3);
  expect(await get(`${storage}/local/Drives/root`)).toMatchObject({ CapacityBytes: 20 * 2 ** 30, SerialNumber: null });
  expect(await get(`${storage}/local/Drives/swap`)).toMatchObject({ CapacityBytes: 512 * 2 ** 20 });
  expect(await get(`${storage}/volume/Volumes/v1`)).toMatchObject({ Name: 'name of v1', CapacityBytes: 5 * 2 ** 30 });
  const drive = await get(`${storage}/volume/Drives/v1`);
  expect(drive).toMatchObject({ CapacityBytes: 5 * 2 ** 30, SerialNumber: 'v1', Protocol: 'OEM' });
  expect(drive).not.toHaveProperty('IndicatorLED');
  expect(await get(`/redfish/v1/Systems/${idOf(1)}/SimpleStorage/volume`)).toMatchObject({
    Devices: [{ Name: 'v1', CapacityBytes: 5 * 2 ** 30 }],
  });
  const { Members: all } = await get(`/redfish/v1/Chassis/${idOf(1)}/Drives?$expand=.`);
  expect((all as Body[]).map((member) => member['CapacityBytes'])).toEqual([
    ...[20 * 2 ** 30, 4 * 2 ** 30, 512 * 2 ** 20, 5 * 2 ** 30],
  ]);
  expect(cinderRequests()).toEqual(['GET /volumev3/volumes/v1']);
});

it('the service sends requests to Cinder only when a client reads storage', async () => {
  cloud.servers.put(1, attached('v1'));
  const { get } = await serve((_request, response) => sendJson(response, 200, volumeOf('v1')));
  await get('/redfish/v1/Systems?$expand=.');
  await get(`/redfish/v1/Systems/${idOf(1)}`);
  await get(`/redfish/v1/Chassis/${idOf(1)}`);
  expect(cinderRequests()).toEqual([]);
});

it.each<[string, NovaHandler | undefined]>([
  ['has no Cinder', undefined],
  ['has a Cinder that is silent', () => undefined],
  ['has a Cinder that fails', (_request, response) => sendJson(response, 500, { error: { message: 'down' } })],
  ['has a Cinder that answers in another form', (_request, response) => sendJson(response, 200, { volume: [] })],
  ['does not show the volume', (_request, response) => sendJson(response, 404, { itemNotFound: { message: 'no' } })],
])('the service shows volumes without name and size, and the local disk, if the cloud %s', async (_, cinder) => {
  cloud.servers.put(1, attached('v1', 'v2'));
  const { get } = await serve(cinder);
  for (const id of ['v1', 'v2']) {
    expect(await get(`${storage}/volume/Volumes/${id}`)).toMatchObject({
      Name: `Cinder Volume ${id}`,
      CapacityBytes: null,
    });
  }
  expect(await get(`${storage}/local/Volumes/root`)).toMatchObject({ CapacityBytes: 2 ** 30 });
});

it('the service sends no further requests for volumes to a Cinder that has answered 400', async () => {
  cloud.servers.put(1, attached('v1', 'v2', 'v3'));
  const { get } = await serve((_request, response) => sendJson(response, 400, { badRequest: { message: 'no' } }));
  await get(`${storage}/volume`);
  const asked = cinderRequests().length;
  await get(`${storage}/volume/Volumes/v1`);
  await get(`${storage}/volume/Volumes/v2`);
  expect(cinderRequests()).toHaveLength(asked);
});

it('the service limits the number of volumes and the length of names, and replaces control characters', async () => {
  const ids = Array.from({ length: 5000 }, (_, index) => `v${index}`);
  cloud.servers.put(1, attached('../../Managers', 'a b', ...ids));
  const name = `<script>alert(1)</script>\u0000\u001b[31m\ud800\u202e${'x'.repeat(100_000)}`;
  const { get } = await serve((_request, response) => sendJson(response, 200, volumeOf('v', { name, size: 1e300 })));
  expect(members(await get(`${storage}/volume/Volumes`))).toHaveLength(128);
  const volume = await get(`${storage}/volume/Volumes/v0`);
  expect(volume['CapacityBytes']).toBeNull();
  expect(String(volume['Name'])).toMatch(/^<script>alert\(1\)<\/script> \[31m x+…$/);
  expect(String(volume['Name'])).toHaveLength(255);
});

it('the service rejects changes of volumes and drives', async () => {
  cloud.servers.put(1);
  const { send, messages } = await serve();
  const rejected = await send('PATCH', `${storage}/local/Drives/root`, { LocationIndicatorActive: true });
  expect([rejected.status, messages(rejected)]).toEqual([400, ['PropertyUnknown']]);
  const deleted = await send('DELETE', `${storage}/local/Volumes/root`);
  expect([deleted.status, messages(deleted)]).toEqual([409, ['ResourceCannotBeDeleted']]);
  const created = await send('POST', `${storage}/local/Volumes`, { CapacityBytes: 2 ** 30 });
  expect([created.status, messages(created)]).toEqual([405, ['OperationNotAllowed']]);
});
