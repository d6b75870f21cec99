/** Tests Bios and SecureBoot of servers, which depend on the properties of images and flavors. */
import { expect, it } from '@jest/globals';
import { sendJson, type NovaHandler } from '../support/cloud-server.js';
import { idOf, IMAGE_ID } from '../support/listed-servers.js';
import { servedCloud } from '../support/served-cloud.js';
import type { Body } from '../support/served-resources.js';

const cloud = servedCloud();
const system = `/redfish/v1/Systems/${idOf(1)}`;
const flavor = { vcpus: 2, ram: 512, disk: 1, original_name: 'm1' };

/** Gives the cloud a Glance in which every image has these properties. */
const glance = (properties: object): void => {
  cloud.api.others.set('image', (_request, response) => sendJson(response, 200, { id: IMAGE_ID, ...properties }));
};
const attributes = ({ Attributes: all }: Body) => all;

it('the service shows the firmware properties of the image, and rejects changes of them', async () => {
  cloud.servers.put(1, { flavor });
  glance({ hw_firmware_type: 'uefi', os_secure_boot: 'required', hw_machine_type: 'q35' });
  const { get, send, messages } = await cloud.serve();
  const bios = await get(`${system}/Bios`);
  expect(bios['Description']).toBe('UEFI firmware');
  expect(attributes(bios)).toEqual({
    BootMode: 'Uefi',
    SecureBootStatus: 'Enabled',
    NumCores: 2,
    MemorySizeMiB: 512,
    MachineType: 'q35',
    SerialNumber: null,
  });
  expect(bios['Actions']).toEqual({});
  expect(await get(`${system}/SecureBoot`)).toMatchObject({
    SecureBootEnable: true,
    SecureBootCurrentBoot: 'Enabled',
    SecureBootMode: null,
  });
  const rejected = await send('PATCH', `${system}/SecureBoot`, { SecureBootEnable: false });
  expect([rejected.status, messages(rejected)]).toEqual([400, ['PropertyNotWritable']]);
  expect(attributes(await get(`${system}/Bios/Settings`))).toEqual(attributes(bios));
  for (const resource of ['Bios', 'Bios/Settings']) {
    const patched = await send('PATCH', `${system}/${resource}`, { Attributes: { BootMode: 'Bios' } });
    expect([patched.status, messages(patched)]).toEqual([405, ['OperationNotAllowed']]);
  }
  expect(await get(`/redfish/v1/UpdateService/FirmwareInventory/BIOS-${idOf(1)}`)).toMatchObject({
    Description: 'UEFI firmware',
  });
  expect(cloud.requestsTo('/image/v2/images/')).toEqual([`GET /image/v2/images/${IMAGE_ID}`]);
});

it.each<[string, object, object, string | null, boolean | null]>([
  ['an image without properties', {}, {}, null, false],
  ['an image for BIOS', { hw_firmware_type: 'bios' }, {}, 'Bios', false],
  [
    'an image that leaves Secure Boot to the host',
    { hw_firmware_type: 'uefi', os_secure_boot: 'optional' },
    {},
    'Uefi',
    null,
  ],
  ['a flavor with Secure Boot', { hw_firmware_type: 'uefi' }, { 'os:secure_boot': 'required' }, 'Uefi', true],
  ['hostile properties', { hw_firmware_type: '__proto__', os_secure_boot: ['required'] }, {}, null, false],
])('the service reads boot mode and Secure Boot from %s', async (_, properties, extraSpecs, mode, isSecure) => {
  cloud.servers.put(1, { flavor: { ...flavor, extra_specs: extraSpecs } });
  glance(properties);
  const { get } = await cloud.serve();
  expect(attributes(await get(`${system}/Bios`))).toMatchObject({ BootMode: mode });
  expect(await get(`${system}/SecureBoot`)).toMatchObject({ SecureBootEnable: isSecure });
});

it('the service reads the properties of the boot volume of a server without an image', async () => {
  const ids = ['v1', 'v2', 'v3'].map((id) => ({ id }));
  cloud.servers.put(1, { image: '', 'os-extended-volumes:volumes_attached': ids });
  const devices: Readonly<Record<string, string>> = { v1: '/dev/vdb', v2: '/dev/vda', v3: '/dev/vdc' };
  cloud.api.others.set('block-storage', (_request, response, path) => {
    const id = path.split('/')[2] ?? '';
    const attachments = [{ server_id: idOf(1), device: devices[id] }];
    const properties = { hw_firmware_type: id === 'v2' ? 'uefi' : 'bios' };
    const volume = { name: '', size: 1, bootable: String(id !== 'v3'), attachments, volume_image_metadata: properties };
    sendJson(response, 200, { volume });
  });
  const { get } = await cloud.serve();
  expect(attributes(await get(`${system}/Bios`))).toMatchObject({ BootMode: 'Uefi', SecureBootStatus: 'Disabled' });
});

it.each<[string, NovaHandler | undefined]>([
  ['without Glance', undefined],
  ['that has deleted the image', (_request, response) => sendJson(response, 404, { message: 'gone' })],
])('the service shows boot mode and Secure Boot as null with a cloud %s', async (_, handler) => {
  cloud.servers.put(1);
  if (handler !== undefined) cloud.api.others.set('image', handler);
  const { get } = await cloud.serve();
  expect(attributes(await get(`${system}/Bios`))).toMatchObject({ BootMode: null, SecureBootStatus: null });
  expect(await get(`${system}/SecureBoot`)).toMatchObject({ SecureBootEnable: null, SecureBootCurrentBoot: null });
});

it('the service answers a read of Bios with 503 and the name of the failed service, and still shows the server', async () => {
  cloud.servers.put(1);
  cloud.servers.put(2, { image: '', 'os-extended-volumes:volumes_attached': [{ id: 'v1' }] });
  const fail: NovaHandler = (_request, response) => void response.writeHead(418).end('<b>no</b> tea');
  cloud.api.others.set('image', fail);
  cloud.api.others.set('volumev3', fail);
  const { get, send } = await cloud.serve();
  for (const [index, name] of [
    [1, 'Glance'],
    [2, 'Cinder'],
  ] as const) {
    const { status, body } = await send('GET', `/redfish/v1/Systems/${idOf(index)}/Bios`);
    expect([status, JSON.stringify(body)]).toEqual([503, expect.stringContaining(`${name} answers 418: no tea`)]);
    expect(await get(`/redfish/v1/Systems/${idOf(index)}`)).toHaveProperty('Bios');
    const processor = await get(`/redfish/v1/Systems/${idOf(index)}/Processors/CPU0`);
    expect(processor).toMatchObject({ ProcessorArchitecture: 'x86' });
  }
});

it.each<[string, object, string, string]>([
  ['the property of the image', { hw_architecture: 'aarch64' }, 'ARM', 'ARM-A64'],
  ['the older name of the property', { architecture: 'aarch64' }, 'ARM', 'ARM-A64'],
  ['the setting', {}, 'x86', 'x86-64'],
])('the service derives the architecture from %s', async (_, properties, ProcessorArchitecture, InstructionSet) => {
  cloud.servers.put(1, { flavor });
  glance(properties);
  const { get } = await cloud.serve();
  expect(await get(`${system}/Processors/CPU0`)).toMatchObject({ ProcessorArchitecture, InstructionSet });
});

it('the service requests the boot mode only for a read of a single server; a listing shows the known modes', async () => {
  cloud.servers.put(1);
  cloud.servers.put(2);
  cloud.servers.put(3, { image: '' });
  glance({ hw_firmware_type: 'bios' });
  const { get, send } = await cloud.serve();
  const modes = async (): Promise<readonly unknown[]> => {
    const { Members: members } = await get('/redfish/v1/Systems?$expand=.');
    // The service sends systems.
    const found = (members as readonly { Id: string; Boot: Body }[]).map(({ Id, Boot: boot }) => [Id, boot[mode]]);
    return [1, 2, 3].map((index) => found.find(([id]) => id === idOf(index))?.[1]);
  };
  const mode = 'BootSourceOverrideMode';
  const asked = `GET /image/v2/images/${IMAGE_ID}`;
  expect([await modes(), cloud.requestsTo('/image/v2/images/')]).toEqual([[undefined, undefined, undefined], []]);
  expect((await get(system))['Boot']).toMatchObject({ [mode]: 'Legacy' });
  expect([await modes(), cloud.requestsTo('/image/v2/images/')]).toEqual([['Legacy', undefined, undefined], [asked]]);
  const refused = await send('PATCH', system, { Boot: { [mode]: 'UEFI' } });
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    400,
    expect.stringContaining('Nova fixes the boot order, the boot mode and Secure Boot when it creates the server'),
  ]);
  expect((await get(system.replace(idOf(1), idOf(3))))['Boot']).not.toHaveProperty(mode);
});

it('the service shows a server without its boot mode while Glance fails, and then another server with its mode', async () => {
  cloud.servers.put(1);
  cloud.servers.put(2, { image: { id: '00000000-0000-4000-8000-0000000000fe' } });
  cloud.api.others.set('image', (_request, response) => response.writeHead(500).end());
  const { get } = await cloud.serve();
  expect((await get(system))['Boot']).not.toHaveProperty('BootSourceOverrideMode');
  glance({ hw_firmware_type: 'uefi' });
  expect((await get(system.replace(idOf(1), idOf(2))))['Boot']).toMatchObject({ BootSourceOverrideMode: 'UEFI' });
});
