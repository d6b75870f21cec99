import { afterEach, describe, expect, it } from '@jest/globals';
import { serveResources, type Served } from '../../../test/support/served-resources.js';
import { allowSystems } from '../../drivers/allowed-systems.js';
import type { HypervisorDriver } from '../../drivers/driver.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import type { HostFacts, HostsControl, HostSnapshot } from '../../drivers/hosts-control.js';
import type { CompleteSnapshot, SystemRef } from '../../drivers/snapshot/system-snapshot.js';

const machines = sampleMachines(3).map((machine, index) => ({ ...machine, host: index < 2 ? 'rack-1' : 'rack-2' }));
const uuids = machines.map(({ uuid }) => uuid);
const since = new Date('2026-01-02T03:04:05.000Z');
const facts: HostFacts = {
  hypervisor: { name: 'QEMU', version: '7.2.22' },
  libvirtVersion: '9.0.0',
  architecture: 'x86_64',
  processors: { sockets: 2, cores: 8, threads: 16 },
  memoryBytes: 64 * 1024 ** 3,
  freeMemoryBytes: 16 * 1024 ** 3,
  cpuTime: { busySeconds: 5, idleSeconds: 15 },
  cpuLoad: 0.2468,
  machines: { total: 2, running: 0 },
};
const answering = { reachable: true, reason: null, since, facts };
const silent = { reachable: false, reason: 'connection refused', since };

/** A driver whose hosts have the snapshots that the test gives. */
class HostedDriver extends FakeDriver {
  readonly snapshots: HostSnapshot[];
  readonly hosts: HostsControl;

  constructor(hasHostList = true, ...snapshots: Omit<HostSnapshot, 'name' | 'uri'>[]) {
    super({ machines });
    this.snapshots = snapshots.map((snapshot, index) => ({
      name: `rack-${index + 1}`,
      uri: `qemu+tls://rack-${index + 1}/system`,
      ...snapshot,
    }));
    this.hosts = {
      hasHostList,
      list: () => this.snapshots.map(({ name, uri }) => ({ name, uri })),
      read: (name) => Promise.resolve(this.snapshots.find((each) => each.name === name) ?? fail(name)),
      onChange: () => () => undefined,
    };
  }

  override async listSystems(): Promise<readonly SystemRef[]> {
    const list = await super.listSystems();
    return list.map((ref) => ({ ...ref, ...hostOf(ref.uuid) }));
  }

  override async getSystem(id: string): Promise<CompleteSnapshot> {
    const system = await super.getSystem(id);
    return { ...system, ...hostOf(system.uuid) };
  }
}

function fail(name: string): never {
  throw new Error(`no host ${name}`);
}

function hostOf(uuid: string): { readonly host?: string } {
  const found = machines.find((machine) => machine.uuid === uuid);
  return found === undefined ? {} : { host: found.host };
}

const link = (path: string) => ({ '@odata.id': `/redfish/v1/${path}` });
const links = (folder: string, ids: readonly string[]) => ids.map((id) => link(`${folder}/${id}`));

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

async function serve(driver: HypervisorDriver, parts: Parameters<typeof serveResources>[1] = {}): Promise<Served> {
  served = await serveResources(driver, parts);
  return served;
}

describe('the chassis of a host', () => {
  it('contains the chassis of its machines', async () => {
    const { get } = await serve(new HostedDriver(true, answering, answering));
    expect((await get('/redfish/v1/Chassis'))['Members']).toEqual(links('Chassis', [...uuids, 'rack-1', 'rack-2']));
    expect(await get('/redfish/v1/Chassis/rack-1')).toEqual({
      '@odata.id': '/redfish/v1/Chassis/rack-1',
      Id: 'rack-1',
      Name: 'Host rack-1',
      Description: 'A host of virtual machines with QEMU 7.2.22 and libvirt 9.0.0',
      ChassisType: 'Enclosure',
      PowerState: 'On',
      Status: { State: 'Enabled', Health: 'OK', HealthRollup: 'OK', HealthRollUp: 'OK' },
      Sensors: link('Chassis/rack-1/Sensors'),
      Processors: link('Chassis/rack-1/Processors'),
      Memory: link('Chassis/rack-1/Memory'),
      Links: {
        Contains: links('Chassis', uuids.slice(0, 2)),
        'Contains@odata.count': 2,
        ComputerSystems: links('Systems', uuids.slice(0, 2)),
        'ComputerSystems@odata.count': 2,
      },
    });
    for (const machine of machines) {
      expect(await get(`/redfish/v1/Chassis/${machine.uuid}`)).toMatchObject({
        Links: { ContainedBy: link(`Chassis/${machine.host}`) },
      });
      expect(await get(`/redfish/v1/Systems/${machine.uuid}`)).toMatchObject({
        Links: { Chassis: [link(`Chassis/${machine.uuid}`), link(`Chassis/${machine.host}`)] },
      });
    }
  });

  it('is not among the chassis of a system if the configuration has no list of hosts', async () => {
    const { get } = await serve(new HostedDriver(false, answering));
    const [uuid = ''] = uuids;
    expect(await get(`/redfish/v1/Systems/${uuid}`)).toMatchObject({
      Links: { Chassis: [link(`Chassis/${uuid}`)], 'Chassis@odata.count': 1 },
    });
    expect(await get(`/redfish/v1/Chassis/${uuid}`)).toMatchObject({
      Links: { ContainedBy: link('Chassis/rack-1') },
    });
  });

  it('has the capacity of the host as processors and memory', async () => {
    const { get, send } = await serve(new HostedDriver(true, answering));
    const processors = '/redfish/v1/Chassis/rack-1/Processors';
    expect((await get(processors))['Members']).toEqual(links('Chassis/rack-1/Processors', ['CPU0', 'CPU1']));
    expect(await get(`${processors}/CPU1`)).toMatchObject({
      ProcessorArchitecture: 'x86',
      InstructionSet: 'x86-64',
      TotalCores: 4,
      TotalThreads: 8,
    });
    const memory = '/redfish/v1/Chassis/rack-1/Memory';
    expect((await get(memory))['Members']).toEqual(links('Chassis/rack-1/Memory', ['System']));
    expect(await get(`${memory}/System`)).toMatchObject({ CapacityMiB: 65_536 });
    for (const path of [`${processors}/CPU2`, `${memory}/DIMM0`, '/redfish/v1/Chassis/rack-9/Memory']) {
      expect((await send('GET', path)).status).toBe(404);
    }
  });

  it('has the load of the host as sensors in percent', async () => {
    const { get } = await serve(
      new HostedDriver(true, answering, { ...answering, facts: { ...facts, cpuLoad: null } }),
    );
    const sensors = '/redfish/v1/Chassis/rack-1/Sensors';
    const ids = ['ProcessorUtilization', 'MemoryUtilization'];
    expect((await get(sensors))['Members']).toEqual(links('Chassis/rack-1/Sensors', ids));
    expect(await get(`${sensors}/ProcessorUtilization`)).toEqual({
      '@odata.id': `${sensors}/ProcessorUtilization`,
      Id: 'ProcessorUtilization',
      Name: 'Processor Utilization',
      Implementation: 'Reported',
      ReadingType: 'Percent',
      ReadingUnits: '%',
      ReadingRangeMin: 0,
      ReadingRangeMax: 100,
      PhysicalContext: 'CPU',
      Reading: 24.7,
      Status: { State: 'Enabled', Health: 'OK' },
    });
    expect(await get(`${sensors}/MemoryUtilization`)).toMatchObject({ PhysicalContext: 'Memory', Reading: 75 });
    expect(await get('/redfish/v1/Chassis/rack-2/Sensors/ProcessorUtilization')).toMatchObject({
      Reading: null,
      Status: { State: 'Absent' },
    });
  });

  it('rejects a PATCH, and has no parts that only the chassis of machines have', async () => {
    const { send, messages } = await serve(new HostedDriver(true, answering));
    const answer = await send('PATCH', '/redfish/v1/Chassis/rack-1', { LocationIndicatorActive: true });
    expect([answer.status, messages(answer)]).toEqual([400, ['PropertyUnknown']]);
    for (const part of ['Power', 'Thermal', 'PowerSubsystem', 'EnvironmentMetrics', 'Drives', 'Sensors/ChassisPower']) {
      expect((await send('GET', `/redfish/v1/Chassis/rack-1/${part}`)).status).toBe(404);
    }
  });
});

describe('a host that does not answer', () => {
  it('is UnavailableOffline with the reason, and still shows its capacity and its machines', async () => {
    const { get } = await serve(new HostedDriver(true, { ...silent, facts }));
    const chassis = await get('/redfish/v1/Chassis/rack-1');
    expect(chassis).toMatchObject({
      PowerState: null,
      Status: {
        State: 'UnavailableOffline',
        Health: 'Critical',
        Conditions: [
          {
            MessageId: 'ResourceEvent.1.4.ResourceStatusChangedCritical',
            MessageArgs: ['rack-1', 'Critical'],
            Message: "The health of 'rack-1' is now Critical. The host does not answer: connection refused",
            Timestamp: since.toISOString(),
          },
        ],
      },
      Links: { 'ComputerSystems@odata.count': 2 },
    });
    const unavailable = { Status: { State: 'UnavailableOffline', Health: 'Critical' } };
    expect(await get('/redfish/v1/Chassis/rack-1/Processors/CPU0')).toMatchObject({ ...unavailable, TotalCores: 4 });
    expect(await get('/redfish/v1/Chassis/rack-1/Sensors/MemoryUtilization')).toMatchObject({
      ...unavailable,
      Reading: null,
    });
  });

  it('has no capacity before its first answer', async () => {
    const { get, send } = await serve(new HostedDriver(true, { ...silent, facts: null }));
    const chassis = await get('/redfish/v1/Chassis/rack-1');
    expect([chassis['Processors'], chassis['Memory']]).toEqual([undefined, undefined]);
    expect((await send('GET', '/redfish/v1/Chassis/rack-1/Processors')).status).toBe(404);
    expect(await get('/redfish/v1/UpdateService/SoftwareInventory/libvirt-rack-1')).toMatchObject({ Version: null });
  });
});

describe('the software of a host', () => {
  it('is in the software inventory with its version', async () => {
    const { get, send } = await serve(new HostedDriver(true, answering));
    const inventory = '/redfish/v1/UpdateService/SoftwareInventory';
    expect(await get('/redfish/v1/UpdateService')).toMatchObject({
      SoftwareInventory: link('UpdateService/SoftwareInventory'),
    });
    expect((await get(inventory))['Members']).toEqual(
      links('UpdateService/SoftwareInventory', ['libvirt-rack-1', 'hypervisor-rack-1']),
    );
    expect(await get(`${inventory}/libvirt-rack-1`)).toMatchObject({
      Name: 'libvirt of host rack-1',
      Version: '9.0.0',
      RelatedItem: [link('Chassis/rack-1')],
    });
    expect(await get(`${inventory}/hypervisor-rack-1`)).toMatchObject({ SoftwareId: 'QEMU', Version: '7.2.22' });
    for (const id of ['libvirt-rack-2', 'qemu-rack-1', 'libvirt']) {
      expect((await send('GET', `${inventory}/${id}`)).status).toBe(404);
    }
  });
});

describe('EMULATOR_CHASSIS', () => {
  it('puts all hosts into its first chassis', async () => {
    const rack = '2f0d6b52-53a4-4f05-9c0a-7c5f2f1b0a11';
    const settings = { chassis: [{ Id: 'Rack', Name: 'Rack 1', UUID: rack }] };
    const { get } = await serve(new HostedDriver(true, answering, answering), { settings });
    expect((await get('/redfish/v1/Chassis'))['Members']).toEqual(links('Chassis', [rack, 'rack-1', 'rack-2']));
    expect(await get('/redfish/v1/Chassis/Rack')).toMatchObject({
      Links: { Contains: links('Chassis', ['rack-1', 'rack-2']), 'ComputerSystems@odata.count': 3 },
    });
    const { Links } = await get('/redfish/v1/Chassis/rack-1');
    expect(Links).toEqual({
      ContainedBy: link(`Chassis/${rack}`),
      ComputerSystems: links('Systems', uuids.slice(0, 2)),
      'ComputerSystems@odata.count': 2,
    });
  });
});

describe('a service of one machine', () => {
  it('does not show the host', async () => {
    const [uuid = ''] = uuids;
    const { get, send } = await serve(allowSystems(new HostedDriver(true, answering), [uuid], null));
    expect((await get('/redfish/v1/Chassis'))['Members']).toEqual(links('Chassis', [uuid]));
    expect((await send('GET', '/redfish/v1/Chassis/rack-1')).status).toBe(404);
    const { Links } = await get(`/redfish/v1/Chassis/${uuid}`);
    expect(Links).not.toHaveProperty('ContainedBy');
    expect(await get(`/redfish/v1/Systems/${uuid}`)).toMatchObject({ Links: { 'Chassis@odata.count': 1 } });
  });
});
