/** The chassis of the machines, or those of EMULATOR_CHASSIS. See chassis-place.ts. */
import { z } from 'zod';
import { vendor, version } from '../../version.js';
import { withoutProperties } from '../../redfish/body/without-properties.js';
import { reference, renderCollection } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { enabledWithParts, powerState, systemStatus } from '../status.js';
import { assetTagBody, wantedTag } from '../systems/identity.js';
import { listChassis, loadChassis, changeChassis, type ChassisEntity } from './chassis-place.js';
import { indicatorBody, indicatorProperties, renderIndicator, wantedIndicator } from './indicator.js';

const chassisCollection = defineResource({
  entity: 'ChassisCollection',
  odataType: '#ChassisCollection.ChassisCollection',
  uri: '/redfish/v1/Chassis',
  load: ({ services }) => listChassis(services),
  render: (members, { self }) =>
    renderCollection(
      'Chassis Collection',
      members.map(({ uuid }) => `${self}/${uuid}`),
    ),
});

const chassisBody = z.strictObject({ ...indicatorBody, ...assetTagBody });

/**
 * Returns whether a client can change a part. The service stores the indicator of a configured
 * chassis. A tag is stored with a machine, so a configured chassis has no tag.
 */
function canChange(
  { system }: Pick<ChassisEntity, 'system'>,
  { driver }: Services,
  part: 'indicator' | 'assetTag',
): boolean {
  return system === null ? part === 'indicator' : driver.changeable.has(part);
}

const chassis = defineResource({
  entity: 'Chassis',
  odataType: '#Chassis.v1_28_0.Chassis',
  uri: '/redfish/v1/Chassis/{chassisId}',
  load: ({ params, services }) => loadChassis(params.chassisId, services),
  canonicalParams: ({ uuid }) => ({ chassisId: uuid }),
  render: ({ uuid, name, system, machines, indicator }, { self, services }) => ({
    Id: uuid,
    UUID: uuid,
    Name: name,
    // A virtual chassis has no shape. A configured chassis is an enclosure, as in sushy-tools.
    ChassisType: system === null ? 'Enclosure' : 'Other',
    Manufacturer: system?.sysinfo?.manufacturer ?? vendor,
    Model: system?.sysinfo?.product ?? `${vendor} ${version}`,
    SerialNumber: system?.sysinfo?.serial ?? null,
    SKU: system?.sysinfo?.sku ?? null,
    PartNumber: null,
    ...(system === null || services.driver.changeable.has('assetTag') ? { AssetTag: system?.assetTag ?? null } : {}),
    PowerState: system === null ? 'On' : powerState(system),
    ...(canChange({ system }, services, 'indicator') ? renderIndicator(indicator) : {}),
    Status: system === null ? enabledWithParts : systemStatus(system),
    Power: reference(`${self}/Power`),
    Thermal: reference(`${self}/Thermal`),
    PowerSubsystem: reference(`${self}/PowerSubsystem`),
    ThermalSubsystem: reference(`${self}/ThermalSubsystem`),
    EnvironmentMetrics: reference(`${self}/EnvironmentMetrics`),
    Sensors: reference(`${self}/Sensors`),
    Drives: reference(`${self}/Drives`),
    Links: {
      ComputerSystems: machines.map((machine) => reference(`/redfish/v1/Systems/${machine.uuid}`)),
      'ComputerSystems@odata.count': machines.length,
      ManagedBy: machines.map((machine) => reference(`/redfish/v1/Managers/${machine.uuid}`)),
      'ManagedBy@odata.count': machines.length,
    },
  }),
  patch: {
    body: (entity, services): z.ZodType<z.infer<typeof chassisBody>> =>
      withoutProperties(chassisBody, [
        ...(canChange(entity, services, 'indicator') ? [] : indicatorProperties),
        ...(canChange(entity, services, 'assetTag') ? [] : (['AssetTag'] as const)),
      ]),
    shape: ({ system }) => (system === null ? 'configured' : 'machine'),
    apply: async (entity, body, { services }) => {
      const indicator = wantedIndicator(body, entity.indicator);
      const change = { ...wantedTag(body), ...(indicator === undefined ? {} : { indicator }) };
      await changeChassis(entity, change, services);
      return undefined;
    },
  },
});

/**
 * The collection of chassis and its members.
 * @see DSP2046, Chassis
 */
export const chassisResources = [chassisCollection, chassis];
