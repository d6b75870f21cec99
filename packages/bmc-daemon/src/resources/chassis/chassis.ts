/**
 * The chassis of the machines, or those of EMULATOR_CHASSIS, and those of the hosts. See
 * chassis-place.ts.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { vendor, version } from '../../version.js';
import { withoutProperties } from '../../redfish/body/without-properties.js';
import type { JsonObject } from '../../redfish/resource.js';
import { reference, renderCollection } from '../reference.js';
import { defineResource, type Services } from '../services.js';
import { enabledWithParts, powerState, systemStatus } from '../status.js';
import { assetTagBody, wantedTag } from '../systems/identity.js';
import { listChassis, changeChassis, type ChassisEntity } from './chassis-place.js';
import {
  chassisId,
  containedByHost,
  hostReferences,
  hostUri,
  loadAnyChassis,
  renderHostChassis,
  type HostChassis,
} from './host-chassis.js';
import { indicatorBody, indicatorProperties, renderIndicator, wantedIndicator } from './indicator.js';

/**
 * The members of the collection. {@link membersOf} returns the same object while {@link listChassis} returns the
 * same array and the hosts are the same. The pipeline caches the rendering of an object.
 */
const membersByChassis = new WeakMap<Awaited<ReturnType<typeof listChassis>>, { readonly uris: readonly string[] }>();

function membersOf(chassis: Awaited<ReturnType<typeof listChassis>>, { driver }: Services) {
  const hosts = (driver.hosts?.list() ?? []).map(({ name }) => hostUri(name));
  const known = membersByChassis.get(chassis);
  if (known !== undefined && isDeepStrictEqual(known.uris.slice(chassis.length), hosts)) return known;
  const members = { uris: [...chassis.map(({ uuid }) => `/redfish/v1/Chassis/${uuid}`), ...hosts] };
  membersByChassis.set(chassis, members);
  return members;
}

const chassisCollection = defineResource({
  entity: 'ChassisCollection',
  odataType: '#ChassisCollection.ChassisCollection',
  uri: '/redfish/v1/Chassis',
  load: async ({ services }) => membersOf(await listChassis(services), services),
  render: ({ uris }) => renderCollection('Chassis Collection', uris),
});

const chassisBody = z.strictObject({ ...indicatorBody, ...assetTagBody });

/**
 * Returns whether a client can change a part. The service stores the indicator of a configured
 * chassis. A tag is stored with a machine, so a configured chassis has no tag. A host has no indicator
 * and no tag.
 */
function canChange(entity: ChassisEntity | HostChassis, { driver }: Services, part: 'indicator' | 'assetTag'): boolean {
  if ('host' in entity) return false;
  return entity.system === null ? part === 'indicator' : driver.changeable.has(part);
}

function renderChassis(
  entity: ChassisEntity,
  { self, services }: { readonly self: string; readonly services: Services },
) {
  const { uuid, name, system, machines, indicator } = entity;
  const hosts = system === null && uuid === services.settings.chassis[0]?.UUID ? hostReferences(services.driver) : [];
  return {
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
    ...(canChange(entity, services, 'indicator') ? renderIndicator(indicator) : {}),
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
      ...(hosts.length === 0 ? {} : { Contains: hosts, 'Contains@odata.count': hosts.length }),
      ...containedByHost(system?.host, services.driver),
    },
  };
}

const chassis = defineResource({
  entity: 'Chassis',
  odataType: '#Chassis.v1_28_0.Chassis',
  uri: '/redfish/v1/Chassis/{chassisId}',
  load: ({ params, services }) => loadAnyChassis(params.chassisId, services),
  canonicalParams: (entity) => ({ chassisId: chassisId(entity) }),
  render: (entity, { self, services }): JsonObject =>
    'host' in entity
      ? renderHostChassis(entity, { self, settings: services.settings })
      : renderChassis(entity, { self, services }),
  patch: {
    body: (entity, services): z.ZodType<z.infer<typeof chassisBody>> =>
      withoutProperties(chassisBody, [
        ...(canChange(entity, services, 'indicator') ? [] : indicatorProperties),
        ...(canChange(entity, services, 'assetTag') ? [] : (['AssetTag'] as const)),
      ]),
    shape: (entity) => ('host' in entity ? 'host' : entity.system === null ? 'configured' : 'machine'),
    apply: async (entity, body, { services }) => {
      // The body of a host accepts no property.
      if ('host' in entity) return undefined;
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
