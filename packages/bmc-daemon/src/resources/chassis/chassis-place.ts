/**
 * Lists, finds and changes chassis. Without EMULATOR_CHASSIS each machine has its own chassis. With
 * it, all machines share the first configured chassis.
 */
import type { IndicatorState } from '../../drivers/snapshot/hardware-snapshot.js';
import type { SystemDetails, SystemRef, SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import type { SystemChange } from '../../drivers/system-change.js';
import { redfishError } from '../../redfish/messages/errors.js';
import { inOrder } from '../members.js';
import { reference } from '../reference.js';
import type { ResourceSettings, Services } from '../services.js';
import { configuredIndicator, indicatorOf } from './indicator.js';

/** A chassis and its machines. */
export interface ChassisEntity {
  /** Canonical UUID, which is the id. */
  readonly uuid: string;
  readonly name: string;
  /** The machine whose own chassis this is; null for a configured chassis. */
  readonly system: SystemSnapshot | null;
  /** Sorted by UUID, ascending. */
  readonly machines: readonly SystemRef[];
  readonly indicator: IndicatorState;
}

/** Returns a link to the chassis of a machine. @param uuid the UUID of the machine. */
export function chassisReference(uuid: string, { chassis }: Pick<ResourceSettings, 'chassis'>) {
  return reference(`/redfish/v1/Chassis/${chassis[0]?.UUID ?? uuid}`);
}

/**
 * Lists the chassis of EMULATOR_CHASSIS or of the machines. Without EMULATOR_CHASSIS, returns the
 * same array until a machine is added or removed.
 * @throws {DriverError} of the driver.
 */
export async function listChassis({ driver, settings }: Services): Promise<readonly Pick<SystemRef, 'uuid'>[]> {
  if (settings.chassis.length > 0) return settings.chassis.map(({ UUID }) => ({ uuid: UUID }));
  return inOrder(await driver.listSystems(), 'ascending');
}

/** Caches the chassis of each snapshot: an unchanged machine gives the same object. */
const chassisBySnapshot = new WeakMap<SystemSnapshot, ChassisEntity>();

/**
 * Loads a configured chassis by its UUID or, as in sushy-tools, by its name or id. Without EMULATOR_CHASSIS, loads
 * the chassis of a machine by the machine's UUID or name.
 * @param shown as in {@link HypervisorDriver.getSystem}.
 * @throws {RedfishError} 404 for an unknown configured chassis.
 * @throws {DriverError} notFound for an unknown machine; unavailable.
 */
export async function loadChassis(
  id: string,
  services: Services,
  shown: readonly (keyof SystemDetails)[] = [],
): Promise<ChassisEntity> {
  const { chassis } = services.settings;
  if (chassis.length > 0) return await loadShared(id, services);
  const system = await services.driver.getSystem(id, shown);
  const cached = chassisBySnapshot.get(system);
  if (cached !== undefined) return cached;
  const { uuid, name } = system;
  const indicator = indicatorOf(system, services.settings);
  const entity = { uuid, name: `${name} Chassis`, system, machines: [{ uuid, name }], indicator };
  chassisBySnapshot.set(system, entity);
  return entity;
}

async function loadShared(id: string, { driver, settings, indicators }: Services): Promise<ChassisEntity> {
  const { chassis } = settings;
  const found =
    chassis.find(({ UUID }) => UUID === id.toLowerCase()) ??
    chassis.find(({ Name }) => Name === id) ??
    chassis.find(({ Id }) => Id === id);
  if (found === undefined) throw redfishError('ResourceNotFound', 'Chassis', id);
  const { UUID: uuid, Name, Id } = found;
  return {
    uuid,
    name: Name ?? Id,
    system: null,
    machines: found === chassis[0] ? inOrder(await driver.listSystems(), 'ascending') : [],
    indicator: indicators.get(uuid) ?? configuredIndicator(uuid, settings) ?? 'lit',
  };
}

/**
 * Changes a chassis. A machine's own chassis has the UUID of the machine, so the driver makes the
 * change. In a configured chassis, only the indicator can change, and the service stores it.
 * @throws {DriverError} of the driver.
 * @throws {StateFileError} if the service cannot store the indicator.
 */
export async function changeChassis(
  { uuid, system }: ChassisEntity,
  change: Pick<SystemChange, 'indicator' | 'assetTag'>,
  { driver, indicators }: Services,
): Promise<void> {
  if (system === null) {
    if (change.indicator !== undefined) indicators.set(uuid, change.indicator);
    return;
  }
  if (Object.keys(change).length > 0) await driver.change(uuid, change, { basis: system });
}
