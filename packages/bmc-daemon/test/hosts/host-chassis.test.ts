/** Tests the chassis of two hosts over Redfish. The libvirtd of one of them is killed and started again. */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createMetrics } from '../../src/metrics.js';
import { serveResources, type Served } from '../support/served-resources.js';
import { LabHost, startHosts, until, uuidOf, type LabDriver } from './hosts-lab.js';

let hosts: readonly LabHost[];
let lab: LabDriver;
let served: Served;

const machines = [
  { uuid: uuidOf(1), name: 'one', host: 'rack-1' },
  { uuid: uuidOf(2), name: 'two', host: 'rack-2' },
  { uuid: uuidOf(3), name: 'three', host: 'rack-2' },
];
const link = (path: string) => ({ '@odata.id': `/redfish/v1/${path}` });

beforeAll(async () => {
  hosts = [await LabHost.start('rack-1', 'qemu'), await LabHost.start('rack-2', 'qemu')];
  for (const machine of machines) await hosts.find(({ name }) => name === machine.host)?.define(machine);
  lab = await startHosts(hosts);
  served = await serveResources(lab.driver);
});
afterAll(async () => {
  // `close` also closes the driver.
  await served.close();
  for (const host of hosts) await host.stop();
});

async function stateOf(host: string): Promise<unknown> {
  const { Status } = await served.get(`/redfish/v1/Chassis/${host}`);
  return (Status as { readonly State: string }).State;
}

async function hostMetrics(): Promise<readonly string[]> {
  const { text } = await createMetrics(lab.driver).expose();
  return text.split('\n').filter((line) => /^bmc_host_(?:up|machines)\{/.test(line));
}

it('the service shows each of several hosts as a chassis with its machines', async () => {
  const { Members } = await served.get('/redfish/v1/Chassis');
  expect(Members).toEqual([...machines.map(({ uuid }) => uuid), 'rack-1', 'rack-2'].map((id) => link(`Chassis/${id}`)));
  for (const { name } of hosts) {
    const own = machines.filter(({ host }) => host === name).map(({ uuid }) => uuid);
    expect(await served.get(`/redfish/v1/Chassis/${name}`)).toMatchObject({
      Description: expect.stringMatching(/^A host of virtual machines with QEMU/) as unknown,
      Status: { State: 'Enabled', Health: 'OK' },
      Links: {
        Contains: own.map((uuid) => link(`Chassis/${uuid}`)),
        ComputerSystems: own.map((uuid) => link(`Systems/${uuid}`)),
      },
    });
  }
  for (const { uuid, host } of machines) {
    expect(await served.get(`/redfish/v1/Systems/${uuid}`)).toMatchObject({
      Links: { Chassis: [link(`Chassis/${uuid}`), link(`Chassis/${host}`)] },
    });
    expect(await served.get(`/redfish/v1/Chassis/${uuid}`)).toMatchObject({
      Links: { ContainedBy: link(`Chassis/${host}`) },
    });
  }
  expect(await hostMetrics()).toEqual([
    'bmc_host_up{host="rack-1"} 1',
    'bmc_host_up{host="rack-2"} 1',
    'bmc_host_machines{host="rack-1",state="running"} 0',
    'bmc_host_machines{host="rack-1",state="stopped"} 1',
    'bmc_host_machines{host="rack-2",state="running"} 0',
    'bmc_host_machines{host="rack-2",state="stopped"} 2',
  ]);
});

it('the service shows a lost host as UnavailableOffline with its machines, and the other host as Enabled', async () => {
  const before = await served.get('/redfish/v1/Chassis/rack-2');
  const memory = await served.get('/redfish/v1/Chassis/rack-2/Memory/System');
  await hosts[1]?.libvirtd.daemon.stopDaemon('SIGKILL');
  await until('the host to be lost', async () => (await stateOf('rack-2')) === 'UnavailableOffline');
  const lost = await served.get('/redfish/v1/Chassis/rack-2');
  expect(lost).toMatchObject({
    Description: before['Description'],
    PowerState: null,
    Status: {
      Health: 'Critical',
      Conditions: [{ MessageArgs: ['rack-2', 'Critical'], Timestamp: expect.any(String) as unknown }],
    },
    Links: before['Links'],
  });
  expect(await served.get('/redfish/v1/Chassis/rack-2/Memory/System')).toMatchObject({
    CapacityMiB: memory['CapacityMiB'],
    Status: { State: 'UnavailableOffline' },
  });
  expect(await stateOf('rack-1')).toBe('Enabled');
  expect(await hostMetrics()).toEqual([
    'bmc_host_up{host="rack-1"} 1',
    'bmc_host_up{host="rack-2"} 0',
    'bmc_host_machines{host="rack-1",state="running"} 0',
    'bmc_host_machines{host="rack-1",state="stopped"} 1',
  ]);
  await hosts[1]?.libvirtd.daemon.start();
  await until('the host to answer', async () => (await stateOf('rack-2')) === 'Enabled');
});

it('the service shows no chassis of a removed host', async () => {
  const [first] = hosts;
  if (first === undefined) throw new Error('there is no host');
  await lab.setHosts([{ name: first.name, uri: first.uri }]);
  const ids = [machines[0]?.uuid ?? '', 'rack-1'];
  expect((await served.get('/redfish/v1/Chassis'))['Members']).toEqual(ids.map((id) => link(`Chassis/${id}`)));
  expect((await served.send('GET', '/redfish/v1/Chassis/rack-2')).status).toBe(404);
});
