/** Tests servers with huge and hostile values, which a faulty or hostile cloud could send. */
import { expect, it } from '@jest/globals';
import { sendJson } from '../../support/cloud-server.js';
import { idOf } from '../../support/listed-servers.js';
import { servedCloud } from '../../support/served-cloud.js';
import type { Body, ServedAnswer } from '../../support/served-resources.js';

const cloud = servedCloud();
const systemOf = (index: number): string => `/redfish/v1/Systems/${idOf(index)}`;
const flavor = { vcpus: 1, ram: 64, disk: 1, ephemeral: 0, swap: 0, original_name: 'm1' };
/** The largest number in Nova's database. */
const LARGEST = 2 ** 31 - 1;
/** Returns the number of members of a collection. */
const memberCount = ({ body }: ServedAnswer): number => ((body?.['Members'] ?? []) as Body[]).length; // Every collection has this list.

it('the service shows a server with the largest flavor that Nova can store', async () => {
  cloud.servers.put(1, {
    flavor: { ...flavor, vcpus: LARGEST, ram: LARGEST, disk: LARGEST, ephemeral: LARGEST, swap: LARGEST },
  });
  const { get, send } = await cloud.serve();
  expect(await get(systemOf(1))).toMatchObject({ ProcessorSummary: { Count: LARGEST } });
  const processors = await send('GET', `${systemOf(1)}/Processors?$expand=.`);
  expect([processors.status, memberCount(processors)]).toEqual([200, 1]);
  expect((await send('GET', `${systemOf(1)}/Memory`)).status).toBe(200);
  expect((await send('GET', `${systemOf(1)}/Storage?$expand=*($levels=2)`)).status).toBe(200);
});

it.each([
  ['vcpus', -1],
  ['vcpus', 0.5],
  ['vcpus', LARGEST + 1],
  ['ram', -1],
  ['ram', 1e300],
])('the service shows no server whose flavor has the %s %d, logs it, and shows the others', async (name, value) => {
  cloud.servers.put(1, { flavor: { ...flavor, [name]: value } });
  cloud.servers.put(2);
  const { get, send } = await cloud.serve();
  expect((await get('/redfish/v1/Systems'))['Members']).toEqual([{ '@odata.id': systemOf(2) }]);
  expect(cloud.logged).toMatchObject([{ id: idOf(1), at: `flavor.${name}` }]);
  const single = await send('GET', systemOf(1));
  expect([single.status, JSON.stringify(single.body)]).toEqual([503, expect.stringContaining(`server.flavor.${name}`)]);
});

it('the service shows a server whose flavor has no valid sizes of disks', async () => {
  cloud.servers.put(1, { flavor: { ...flavor, disk: null, ephemeral: -1, swap: '' } });
  const { get } = await cloud.serve();
  const drives = (await get(`${systemOf(1)}/Storage/local`))['Drives'] as unknown[]; // The schema has this list.
  expect(drives).toHaveLength(1);
});

it('the service shortens long names and descriptions, and replaces control characters in them', async () => {
  const names: Readonly<Record<string, string>> = {
    'a  b/c?d#e': 'a  b/c?d#e',
    ['x'.repeat(1_000_000)]: 'x'.repeat(255),
    ['😀'.repeat(300)]: '😀'.repeat(255),
    '\u0000\u001b[31m\n': '��[31m�',
    '\ud800-\u202egnp.exe': '�-�gnp.exe',
    ['__proto__']: '__proto__',
  };
  for (const [index, name] of Object.keys(names).entries()) cloud.servers.put(index, { name, description: name });
  const { get, send } = await cloud.serve();
  for (const [index, shown] of Object.values(names).entries()) {
    expect(await get(systemOf(index))).toMatchObject({ Name: shown, Description: expect.any(String) });
  }
  const text = JSON.stringify(await get('/redfish/v1/Systems?$expand=.'));
  expect(text.length).toBeLessThan(50_000);
  expect(text).not.toMatch(/\\u00|\\ud8|\u202e/);
  // The lookup by name uses the shown name.
  expect((await send('GET', '/redfish/v1/Systems/a%20%20b%2Fc%3Fd%23e')).status).toBe(200);
});

it('the service ignores invalid MAC addresses, shows at most 128 interfaces, and shortens a state in an error', async () => {
  const mac = (number: number): string => `fa:16:3e:00:00:${number.toString(16).padStart(2, '0')}`;
  const addresses = [
    '../../Accounts',
    'x'.repeat(1_000_000),
    '',
    ...Array.from({ length: 256 }, (_, index) => mac(index)),
  ];
  const state = `lost\n${'y'.repeat(10_000)}`;
  cloud.servers.put(1, {
    addresses: { net: addresses.map((address) => ({ 'OS-EXT-IPS-MAC:mac_addr': address })) },
    'OS-EXT-STS:vm_state': state,
    'OS-EXT-STS:power_state': 4,
  });
  cloud.answer((_request, response, path) => {
    if (!path.endsWith('/os-interface')) return false;
    const ports = addresses.map((address) => ({ mac_addr: address, net_id: 'n', port_state: 'ACTIVE' }));
    sendJson(response, 200, { interfaceAttachments: ports });
    return true;
  });
  const { get, send } = await cloud.serve();
  const system = `/redfish/v1/Systems/${idOf(1)}`;
  const { Members: members } = await get(`${system}/EthernetInterfaces?$expand=.`);
  expect((members as Body[]).map((member) => member['MACAddress'])).toEqual(
    Array.from({ length: 128 }, (_, index) => mac(index)),
  );
  const refused = await send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: 'GracefulShutdown' });
  expect([refused.status, JSON.stringify(refused.body).length < 3000]).toEqual([409, true]);
});
