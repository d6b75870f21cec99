/**
 * A driver with the required methods only: it lists and reads machines and changes their power. The
 * service then shows only these features, and still conforms to Redfish.
 */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { allowSystems } from '../../src/drivers/allowed-systems.js';
import { DriverError } from '../../src/drivers/driver-error.js';
import { defineDriver, type HypervisorDriver } from '../../src/drivers/driver.js';
import type { PowerAction } from '../../src/drivers/power.js';
import type { DomainState, SystemSnapshot } from '../../src/drivers/snapshot/system-snapshot.js';
import { resourcesOf } from '../../src/features.js';
import type { Client } from '../support/client.js';
import { crawlService, itFollowsDmtf } from '../support/crawled-service.js';
import { faultsOf, type Crawled } from './crawler.js';

/** Returns a driver with two machines that can be switched on and off. A real driver asks a hypervisor. */
function minimalDriver(): HypervisorDriver {
  const states = new Map<string, DomainState>([
    ['00000000-0000-4000-8000-000000000001', 'shutoff'],
    ['00000000-0000-4000-8000-000000000002', 'running'],
  ]);
  const nameOf = (uuid: string): string => `machine-${uuid.slice(-1)}`;
  const find = (id: string): SystemSnapshot => {
    for (const [uuid, state] of states) {
      const name = nameOf(uuid);
      if (id.toLowerCase() === uuid || id === name) return { uuid, name, state };
    }
    throw new DriverError('notFound', `looking up machine ${id}: no such machine`);
  };
  const after: Partial<Record<PowerAction, DomainState>> = { create: 'running', destroy: 'shutoff' };
  return defineDriver({
    name: 'minimal',
    powerActions: new Set(['create', 'destroy']),
    listSystems: () => Promise.resolve([...states.keys()].map((uuid) => ({ uuid, name: nameOf(uuid) }))),
    getSystem: async (id) => Promise.resolve(find(id)),
    power: async (id, action) => {
      const { uuid, state } = find(id);
      states.set(uuid, after[action] ?? state);
      await Promise.resolve();
    },
  });
}

const system = '/redfish/v1/Systems/00000000-0000-4000-8000-000000000001';

describe('a driver that lists, reads and powers machines', () => {
  let service: Awaited<ReturnType<typeof crawlService>>;
  let client: Client;
  let driver: HypervisorDriver;
  let found: ReadonlyMap<string, Crawled>;

  beforeAll(async () => {
    driver = minimalDriver();
    await driver.start();
    service = await crawlService(driver);
    ({ client, found } = service);
  });
  afterAll(() => service.close());
  const send = (method: string, path: string, body?: object) =>
    client.send(method, path, body === undefined ? {} : { body });

  it('is served without a dead link', () => {
    expect([...found.values()].flatMap((crawled) => faultsOf(crawled, found))).toEqual([]);
    const own = resourcesOf(driver).map(({ uri }) => uri);
    expect(own.filter((uri) => !uri.includes('{') && !found.has(uri))).toEqual([]);
  });

  itFollowsDmtf(() => found);

  it('shows only identity, power and logs of a machine', () => {
    const { body = {} } = found.get(system) ?? {};
    const names = Object.keys(body).filter((name) => !name.includes('@'));
    expect(names.sort()).toEqual([
      ...['Actions', 'BiosVersion', 'Id', 'Links', 'LogServices', 'Manufacturer', 'Model', 'Name'],
      ...['PartNumber', 'PowerState', 'SKU', 'SerialNumber', 'Status', 'SystemType', 'UUID'],
    ]);
    expect(body['Actions']).toMatchObject({
      '#ComputerSystem.Reset': { 'ResetType@Redfish.AllowableValues': ['On', 'ForceOff', 'ForceOn'] },
    });
    const below = [...found.keys()].filter((path) => /^.redfish.v1.(Systems|Managers)./.test(path));
    expect(below.filter((path) => /VirtualMedia|Boot|Bios|Storage|Memory|Processors/.test(path))).toEqual([]);
    expect(found.has('/redfish/v1/JsonSchemas/VirtualMedia.v1_6_5')).toBe(false);
  });

  it.each([
    ...['Bios', 'Bios/Settings', 'BootOptions', 'EthernetInterfaces', 'Memory', 'Processors', 'SecureBoot'],
    ...['SimpleStorage', 'Storage', 'VirtualMedia', 'VirtualMedia/Cd'],
  ])('has no %s below a machine', async (name) => {
    expect((await send('GET', `${system}/${name}`)).status).toBe(404);
  });

  it('switches a machine on and off, and rejects the reset type Nmi', async () => {
    const state = async () => ((await send('GET', system)).json as { readonly PowerState: string }).PowerState;
    const reset = (type: string) => send('POST', `${system}/Actions/ComputerSystem.Reset`, { ResetType: type });
    expect([(await reset('On')).status, await state()]).toEqual([204, 'On']);
    expect([(await reset('ForceOff')).status, await state()]).toEqual([204, 'Off']);
    const { status, json } = await reset('Nmi');
    expect([status, JSON.stringify(json)]).toEqual([
      400,
      expect.stringContaining('ActionParameterValueNotInList') as unknown,
    ]);
  });

  it.each([
    { Boot: { BootSourceOverrideTarget: 'Cd' } },
    { IndicatorLED: 'Lit' },
    { AssetTag: 'rack 1' },
    { PowerRestorePolicy: 'AlwaysOn' },
  ])('rejects the change %j', async (body) => {
    expect((await send('PATCH', system, body)).status).toBe(400);
  });

  it('has a status page and answers the health check', async () => {
    expect([(await send('GET', '/ui/plain')).status, (await send('GET', '/healthz')).status]).toEqual([200, 200]);
  });

  it('can be restricted to one machine', async () => {
    const [, second] = await driver.listSystems();
    const one = allowSystems(driver, [second?.name ?? '']);
    expect(await one.listSystems()).toEqual([second]);
    await expect(one.getSystem('machine-1')).rejects.toMatchObject({ kind: 'notFound' });
    await expect(one.change(second?.uuid ?? '', {})).rejects.toMatchObject({ kind: 'unsupported' });
    await expect(one.power(randomUUID(), 'create')).rejects.toMatchObject({ kind: 'notFound' });
    expect([one.media, one.volumes, one.console, one.statistics]).toEqual([undefined, undefined, undefined, undefined]);
  });
});
