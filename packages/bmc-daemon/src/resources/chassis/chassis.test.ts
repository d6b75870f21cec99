import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from '@jest/globals';
import { serveResources, type Body, type Served } from '../../../test/support/served-resources.js';
import { FakeDriver } from '../../drivers/fake/fake-driver.js';
import { sampleMachines } from '../../drivers/fake/sample-machines.js';
import { openIndicatorStore } from './indicator-store.js';

const [first, second] = sampleMachines(2);
if (first === undefined || second === undefined) throw new Error('two machines expected');
const { uuid } = first;
const own = `/redfish/v1/Chassis/${uuid}`;
const rack = '2f0d6b52-53a4-4f05-9c0a-7c5f2f1b0a11';
const empty = '2f0d6b52-53a4-4f05-9c0a-7c5f2f1b0a12';
const shared = {
  chassis: [
    { Id: 'Rack', Name: 'Rack 1', UUID: rack },
    { Id: 'Spare', UUID: empty },
  ],
};
const link = (path: string) => ({ '@odata.id': path });

let served: Served | undefined;
afterEach(async () => {
  await served?.close();
  served = undefined;
});

async function serve(...parts: Partial<Parameters<typeof serveResources>[1]>[]): Promise<Served> {
  served = await serveResources(new FakeDriver({ machines: sampleMachines(2) }), parts[0]);
  return served;
}

const indicatorOf = ({ IndicatorLED, LocationIndicatorActive }: Body) => [IndicatorLED, LocationIndicatorActive];

describe('the chassis of a machine', () => {
  it('contains the machine and links to power, temperatures, sensors and drives', async () => {
    const { get } = await serve();
    expect(await get(own)).toEqual({
      '@odata.id': own,
      AssetTag: null,
      Id: uuid,
      UUID: uuid,
      Name: 'node-1 Chassis',
      ChassisType: 'Other',
      Manufacturer: 'Rackless',
      Model: expect.stringMatching(/^Rackless \d/) as unknown,
      SerialNumber: null,
      SKU: null,
      PartNumber: null,
      PowerState: 'Off',
      IndicatorLED: 'Lit',
      LocationIndicatorActive: false,
      Status: { State: 'Enabled', Health: 'OK', HealthRollup: 'OK', HealthRollUp: 'OK' },
      ...Object.fromEntries(
        ['Power', 'Thermal', 'PowerSubsystem', 'ThermalSubsystem', 'EnvironmentMetrics', 'Sensors', 'Drives'].map(
          (name) => [name, link(`${own}/${name}`)],
        ),
      ),
      Links: {
        ComputerSystems: [link(`/redfish/v1/Systems/${uuid}`)],
        'ComputerSystems@odata.count': 1,
        ManagedBy: [link(`/redfish/v1/Managers/${uuid}`)],
        'ManagedBy@odata.count': 1,
      },
    });
  });

  it('shows null instead of readings', async () => {
    const { get } = await serve();
    const RelatedItem = [link(`/redfish/v1/Systems/${uuid}`)];
    const related = { RelatedItem, 'RelatedItem@odata.count': 1, Status: { State: 'Absent' } };
    expect(await get(`${own}/Power`)).toEqual({
      '@odata.id': `${own}/Power`,
      Id: 'Power',
      Name: 'Power',
      PowerControl: [
        {
          '@odata.id': `${own}/Power#/PowerControl/0`,
          MemberId: '0',
          Name: 'Power of the chassis',
          PhysicalContext: 'Chassis',
          PowerConsumedWatts: null,
          PowerCapacityWatts: null,
          PowerLimit: { LimitInWatts: null, LimitException: null },
          ...related,
        },
      ],
      'PowerControl@odata.count': 1,
      PowerSupplies: [],
      'PowerSupplies@odata.count': 0,
      Voltages: [],
      'Voltages@odata.count': 0,
    });
    expect((await get(`${own}/Thermal`))['Temperatures']).toEqual(
      ['CPU', 'Intake', 'SystemBoard'].map((PhysicalContext, index) => ({
        '@odata.id': `${own}/Thermal#/Temperatures/${index}`,
        MemberId: String(index),
        Name: `${PhysicalContext} Temperature`,
        SensorNumber: index,
        PhysicalContext,
        ReadingCelsius: null,
        ...related,
      })),
    );
    const sensors = ['CPUTemperature', 'IntakeTemperature', 'SystemBoardTemperature', 'ChassisPower'];
    expect((await get(`${own}/Sensors`))['Members']).toEqual(sensors.map((id) => link(`${own}/Sensors/${id}`)));
    expect(await get(`${own}/Sensors/ChassisPower`)).toEqual({
      '@odata.id': `${own}/Sensors/ChassisPower`,
      Id: 'ChassisPower',
      Name: 'Chassis Power',
      ReadingType: 'Power',
      ReadingUnits: 'W',
      PhysicalContext: 'Chassis',
      Reading: null,
      ...related,
    });
    expect(await get(`${own}/EnvironmentMetrics`)).toMatchObject({
      PowerWatts: { DataSourceUri: `${own}/Sensors/ChassisPower`, Reading: null },
      TemperatureCelsius: { DataSourceUri: `${own}/Sensors/IntakeTemperature`, Reading: null },
    });
    expect((await get(`${own}/PowerSubsystem`))['Status']).toEqual({ State: 'Absent' });
    expect((await get(`${own}/ThermalSubsystem`))['Status']).toEqual({ State: 'Absent' });
  });

  it("has the machine's indicator as IndicatorLED and as LocationIndicatorActive", async () => {
    const { send, get, messages } = await serve();
    const patch = async (body: object) => indicatorOf((await send('PATCH', own, body)).body ?? {});
    expect(await patch({ LocationIndicatorActive: true })).toEqual(['Blinking', true]);
    expect(indicatorOf(await get(`/redfish/v1/Systems/${uuid}`))).toEqual(['Blinking', true]);
    expect(await patch({ LocationIndicatorActive: false })).toEqual(['Off', false]);
    expect(await patch({ IndicatorLED: 'Lit' })).toEqual(['Lit', false]);
    // A steady light already counts as not active, so false changes nothing.
    expect(await patch({ LocationIndicatorActive: false })).toEqual(['Lit', false]);
    const both = await send('PATCH', own, { IndicatorLED: 'Lit', LocationIndicatorActive: true });
    expect([both.status, messages(both)]).toEqual([400, ['PropertyValueConflict']]);
    expect(indicatorOf(await get(own))).toEqual(['Lit', false]);
  });

  it('has the indicator of EMULATOR_INDICATOR_LEDS until a client sets it', async () => {
    const { send, get } = await serve({ settings: { indicatorLeds: { [uuid]: 'Off' } } });
    expect(indicatorOf(await get(own))).toEqual(['Off', false]);
    expect(indicatorOf(await get(`/redfish/v1/Chassis/${second.uuid}`))).toEqual(['Lit', false]);
    await send('PATCH', `/redfish/v1/Systems/${uuid}`, { IndicatorLED: 'Blinking' });
    expect(indicatorOf(await get(own))).toEqual(['Blinking', true]);
  });
});

describe('EMULATOR_CHASSIS', () => {
  it('puts all machines into its first chassis and leaves the others empty', async () => {
    const { get, send } = await serve({ settings: shared });
    expect((await get('/redfish/v1/Chassis'))['Members']).toEqual(
      [rack, empty].map((id) => link(`/redfish/v1/Chassis/${id}`)),
    );
    const uuids = [uuid, second.uuid];
    expect(await get(`/redfish/v1/Chassis/${rack}`)).toMatchObject({
      Id: rack,
      UUID: rack,
      Name: 'Rack 1',
      ChassisType: 'Enclosure',
      Links: {
        ComputerSystems: uuids.map((id) => link(`/redfish/v1/Systems/${id}`)),
        ManagedBy: uuids.map((id) => link(`/redfish/v1/Managers/${id}`)),
      },
    });
    expect(await get(`/redfish/v1/Chassis/${empty}`)).toMatchObject({ Name: 'Spare', Links: { ComputerSystems: [] } });
    expect((await send('GET', own)).status).toBe(404);
  });

  it('makes system, processors, memory, interfaces and storage of a machine link to the first chassis', async () => {
    const { get } = await serve({ settings: shared });
    const system = `/redfish/v1/Systems/${uuid}`;
    const Chassis = link(`/redfish/v1/Chassis/${rack}`);
    expect(await get(system)).toMatchObject({ Links: { Chassis: [Chassis] } });
    for (const part of ['Processors/CPU0', 'Memory/DIMM0', `EthernetInterfaces/${first.interfaces[0]?.mac ?? ''}`]) {
      expect(await get(`${system}/${part}`)).toMatchObject({ Links: { Chassis } });
    }
    expect(await get(`${system}/Storage/virtio`)).toMatchObject({ Links: { Enclosures: [Chassis] } });
  });

  it('makes a chassis available by its Id and Name, as in sushy-tools, and by its UUID in upper case', async () => {
    const { get } = await serve({ settings: shared });
    for (const id of ['Rack', 'Rack%201', rack.toUpperCase()]) {
      expect((await get(`/redfish/v1/Chassis/${id}/Power`))['@odata.id']).toBe(`/redfish/v1/Chassis/${rack}/Power`);
    }
  });

  it('gives each chassis an indicator that survives a restart', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rackless-indicators-'));
    const log = { warn: () => undefined, error: () => undefined };
    try {
      const indicators = openIndicatorStore(folder, log);
      const { send } = await serve({ settings: { ...shared, indicatorLeds: { [rack]: 'Off' } }, indicators });
      expect(indicatorOf((await send('GET', '/redfish/v1/Chassis/Rack')).body ?? {})).toEqual(['Off', false]);
      const answer = await send('PATCH', `/redfish/v1/Chassis/Rack`, { IndicatorLED: 'Blinking' });
      expect(indicatorOf(answer.body ?? {})).toEqual(['Blinking', true]);
      await served?.close();
      const { get } = await serve({ settings: shared, indicators: openIndicatorStore(folder, log) });
      expect(indicatorOf(await get(`/redfish/v1/Chassis/${rack}`))).toEqual(['Blinking', true]);
      expect(indicatorOf(await get(`/redfish/v1/Chassis/${empty}`))).toEqual(['Lit', false]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
