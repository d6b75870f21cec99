/** The contract's rows about hosts, with a libvirtd that is killed and started again. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { CompleteDriver } from '../../src/drivers/driver.js';
import { TestHost, until, type Guest } from '../libvirt-driver/host.js';
import { serveResources, type Served } from '../support/served-resources.js';
import { dmtfSchemas } from './dmtf-schemas.js';

const folder = process.env['RACKLESS_REDFISH_SCHEMAS'];
const uri = '/redfish/v1/Chassis/lab-1';
const link = (path: string) => ({ '@odata.id': path });

let host: TestHost;
let guests: readonly Guest[];
let driver: CompleteDriver;
let served: Served;

beforeAll(async () => {
  host = await TestHost.start();
  guests = [await host.guest(), await host.guest()];
  driver = await host.driver({ hostName: 'lab-1' });
  served = await serveResources(driver);
});
afterAll(async () => {
  await served.close();
  await host.stop();
});

it('RF-84 Links.Contains, Links.ComputerSystems: the machines of a host, and ContainedBy leads back', async () => {
  const uuids = guests.map(({ uuid }) => uuid);
  expect(await served.get(uri)).toMatchObject({
    Links: {
      Contains: uuids.map((uuid) => link(`/redfish/v1/Chassis/${uuid}`)),
      ComputerSystems: uuids.map((uuid) => link(`/redfish/v1/Systems/${uuid}`)),
    },
  });
  for (const uuid of uuids) {
    expect(await served.get(`/redfish/v1/Chassis/${uuid}`)).toMatchObject({ Links: { ContainedBy: link(uri) } });
  }
  expect((await served.get('/redfish/v1/Chassis'))['Members']).toContainEqual(link(uri));
});

it('RF-86 Processors, Memory, Sensors: the capacity of a host, and the load in percent', async () => {
  const info = await host.virsh('nodeinfo');
  const cpus = Number(/^CPU\(s\): +(\d+)/m.exec(info)?.[1]);
  const { Members: processors } = await served.get(`${uri}/Processors`);
  // Each member of a collection is a link.
  const paths = (processors as { readonly '@odata.id': string }[]).map((member) => member['@odata.id']);
  const threads = await Promise.all(paths.map(async (path) => Number((await served.get(path))['TotalThreads'])));
  expect(threads.reduce((sum, count) => sum + count, 0)).toBe(cpus);
  const totalKiB = Number(/^total *: +(\d+)/m.exec(await host.virsh('nodememstats'))?.[1]);
  expect((await served.get(`${uri}/Memory/System`))['CapacityMiB']).toBe(Math.floor(totalKiB / 1024));
  for (const id of ['ProcessorUtilization', 'MemoryUtilization']) {
    const reading = (await served.get(`${uri}/Sensors/${id}`))['Reading'];
    expect(reading).toBeGreaterThanOrEqual(0);
    expect(reading).toBeLessThanOrEqual(100);
  }
});

it('RF-87 SoftwareInventory: the versions of libvirt and of the hypervisor', async () => {
  const version = await host.virsh('version');
  const inventory = '/redfish/v1/UpdateService/SoftwareInventory';
  expect((await served.get(`${inventory}/libvirt-lab-1`))['Version']).toBe(/libvirt ([\d.]+)/.exec(version)?.[1]);
  expect((await served.get(`${inventory}/hypervisor-lab-1`))['Version']).toBe(
    /Running hypervisor: QEMU ([\d.]+)/.exec(version)?.[1],
  );
});

it('RF-85 Status: Enabled, and UnavailableOffline with the reason while the host does not answer', async () => {
  expect((await served.get(uri))['Status']).toMatchObject({ State: 'Enabled', Health: 'OK' });
  await host.libvirtd.stopDaemon('SIGKILL');
  const stateIs = (state: string) => async () =>
    ((await served.get(uri))['Status'] as { readonly State: string }).State === state;
  await until('the host to be lost', stateIs('UnavailableOffline'));
  const lost = await served.get(uri);
  expect(lost['Status']).toMatchObject({
    Health: 'Critical',
    Conditions: [{ Severity: 'Critical', Message: expect.stringContaining('The host does not answer: ') as unknown }],
  });
  // The chassis still matches DMTF's schema, and the last capacity stays readable.
  expect((await served.get(`${uri}/Memory/System`))['CapacityMiB']).toBeGreaterThan(0);
  expect((await served.get(`${uri}/Sensors/MemoryUtilization`))['Reading']).toBeNull();
  if (folder !== undefined) {
    const { HealthRollUp: _, ...status } = lost['Status'] as Record<string, unknown>;
    expect(dmtfSchemas(folder).faults({ ...lost, '@odata.type': '#Chassis.v1_28_0.Chassis', Status: status })).toEqual(
      [],
    );
  }
  await host.libvirtd.start();
  await until('the host to answer', stateIs('Enabled'));
});
