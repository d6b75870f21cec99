/**
 * The chassis of a host. It contains the chassis of its machines. With EMULATOR_CHASSIS, the first
 * configured chassis contains all hosts and all machines.
 */
import { isDriverError } from '../../drivers/driver-error.js';
import type { HostSnapshot } from '../../drivers/hosts-control.js';
import type { SystemDetails, SystemRef } from '../../drivers/snapshot/system-snapshot.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject } from '../../redfish/resource.js';
import { inOrder } from '../members.js';
import { reference } from '../reference.js';
import type { ResourceSettings, Services } from '../services.js';
import { hostStatus } from '../status.js';
import { chassisReference, loadChassis, type ChassisEntity } from './chassis-place.js';

/** A host and its machines. */
export interface HostChassis {
  readonly host: HostSnapshot;
  /** Sorted by UUID, ascending; null while they are unknown, because the host does not answer. */
  readonly machines: readonly SystemRef[] | null;
}

/** Returns the URI of a host's chassis. */
export const hostUri = (name: string): string => `/redfish/v1/Chassis/${name}`;

/** Returns links to all hosts; none if the driver does not know them. */
export function hostReferences({ hosts }: Services['driver']): readonly JsonObject[] {
  return (hosts?.list() ?? []).map(({ name }) => reference(hostUri(name)));
}

/**
 * Returns the chassis of a machine, and that of its host if the configuration has a list of hosts.
 * Without a list, a machine has one chassis, as clients of sushy-tools expect.
 */
export function systemChassis({ uuid, host }: SystemRef, { driver, settings }: Pick<Services, 'driver' | 'settings'>) {
  const isHostShown = host !== undefined && driver.hosts?.hasHostList === true;
  return [chassisReference(uuid, settings), ...(isHostShown ? [reference(hostUri(host))] : [])];
}

/** Renders `ContainedBy` of a machine's own chassis; empty if the driver does not know the host. */
export function containedByHost(host: string | undefined, { hosts }: Services['driver']): JsonObject {
  return host === undefined || hosts === undefined ? {} : { ContainedBy: reference(hostUri(host)) };
}

/** Loads a host by its name. @returns null if no host has this name. @throws {DriverError} of the driver. */
async function findHostChassis(id: string, { driver }: Services): Promise<HostChassis | null> {
  if (driver.hosts?.list().some(({ name }) => name === id) !== true) return null;
  const [host, machines] = await Promise.all([driver.hosts.read(id), machinesOf(id, driver)]);
  return { host, machines };
}

/**
 * Loads a host by its name.
 * @throws {RedfishError} 404 for an unknown name.
 * @throws {DriverError} of the driver. A host that does not answer is no error.
 */
export async function loadHostChassis(id: string, services: Services): Promise<HostChassis> {
  const found = await findHostChassis(id, services);
  if (found === null) throw redfishError('ResourceNotFound', 'Chassis', id);
  return found;
}

/**
 * Loads the chassis of a host, or another chassis as {@link loadChassis} does. A host has
 * precedence over a machine with the same name.
 * @throws as {@link loadChassis}.
 */
export async function loadAnyChassis(
  id: string,
  services: Services,
  shown: readonly (keyof SystemDetails)[] = [],
): Promise<ChassisEntity | HostChassis> {
  return (await findHostChassis(id, services)) ?? (await loadChassis(id, services, shown));
}

/** Returns the id of a chassis, which is the last segment of its URI. */
export const chassisId = (chassis: ChassisEntity | HostChassis): string =>
  'host' in chassis ? chassis.host.name : chassis.uuid;

async function machinesOf(name: string, driver: Services['driver']): Promise<HostChassis['machines']> {
  try {
    return inOrder(await driver.listSystems(), 'ascending').filter(({ host }) => host === name);
  } catch (error) {
    if (isDriverError(error, 'unavailable')) return null;
    throw error;
  }
}

/**
 * Renders the properties of a host's chassis, without manufacturer and serial number, which libvirt does not report.
 */
export function renderHostChassis(
  { host, machines }: HostChassis,
  { self, settings }: { readonly self: string; readonly settings: ResourceSettings },
): JsonObject {
  const { name, facts, reachable } = host;
  const [shared] = settings.chassis;
  return {
    Id: name,
    Name: `Host ${name}`,
    Description: facts === null ? 'A host of virtual machines' : descriptionOf(facts),
    ChassisType: 'Enclosure',
    PowerState: reachable ? 'On' : null,
    Status: hostStatus(host),
    Sensors: reference(`${self}/Sensors`),
    ...(facts === null ? {} : { Processors: reference(`${self}/Processors`), Memory: reference(`${self}/Memory`) }),
    Links: {
      ...(machines === null
        ? {}
        : {
            ComputerSystems: machines.map(({ uuid }) => reference(`/redfish/v1/Systems/${uuid}`)),
            'ComputerSystems@odata.count': machines.length,
          }),
      ...(machines === null || shared !== undefined
        ? {}
        : {
            Contains: machines.map(({ uuid }) => chassisReference(uuid, settings)),
            'Contains@odata.count': machines.length,
          }),
      ...(shared === undefined ? {} : { ContainedBy: reference(`/redfish/v1/Chassis/${shared.UUID}`) }),
    },
  };
}

function descriptionOf({ hypervisor, libvirtVersion }: NonNullable<HostSnapshot['facts']>): string {
  return `A host of virtual machines with ${hypervisor.name} ${hypervisor.version} and libvirt ${libvirtVersion}`;
}
