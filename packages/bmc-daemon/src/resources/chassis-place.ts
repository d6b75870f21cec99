/**
 * Where a machine stands: in a chassis of its own, or, where EMULATOR_CHASSIS names any, in the first of those, which all machines
 * share.
 */
import type { IndicatorState, SystemRef, SystemSnapshot } from '../drivers/driver.js';
import type { SystemChange } from '../drivers/system-change.js';
import { refuse } from '../redfish/errors.js';
import { configuredIndicator, indicatorOf } from './indicator.js';
import { inOrder } from './members.js';
import { reference } from './reference.js';
import type { ResourceSettings, Services } from './services.js';

/** A chassis and who is in it. */
export interface ChassisEntity {
  /** Canonical UUID, which is the id. */
  readonly uuid: string;
  readonly name: string;
  /** The machine whose own chassis it is; null for a shared one. */
  readonly system: SystemSnapshot | null;
  /** By UUID, ascending. */
  readonly machines: readonly SystemRef[];
  readonly indicator: IndicatorState;
}

/** The chassis of a machine, as a link. @param uuid the machine's. */
export function chassisReference(uuid: string, { chassis }: Pick<ResourceSettings, 'chassis'>) {
  return reference(`/redfish/v1/Chassis/${chassis[0]?.UUID ?? uuid}`);
}

/** All chassis by their ids; the same list again as long as none comes or goes. */
export async function listChassis({ driver, settings }: Services): Promise<readonly Pick<SystemRef, 'uuid'>[]> {
  if (settings.chassis.length > 0) return settings.chassis.map(({ UUID }) => ({ uuid: UUID }));
  return inOrder(await driver.listSystems(), 'ascending');
}

/** What was made of a machine's snapshot: the same object again says that nothing changed. */
const own = new WeakMap<SystemSnapshot, ChassisEntity>();

/**
 * A chassis by its UUID, or as sushy-tools has it by its id or name.
 * @throws {RedfishError} 404. @throws {DriverError} notFound, unavailable.
 */
export async function loadChassis(id: string, services: Services): Promise<ChassisEntity> {
  const { chassis } = services.settings;
  if (chassis.length > 0) return await loadShared(id, services);
  const system = await services.driver.getSystem(id);
  const known = own.get(system);
  if (known !== undefined) return known;
  const { uuid, name } = system;
  const indicator = indicatorOf(system, services.settings);
  const entity = { uuid, name: `${name} Chassis`, system, machines: [{ uuid, name }], indicator };
  own.set(system, entity);
  return entity;
}

async function loadShared(id: string, { driver, settings, indicators }: Services): Promise<ChassisEntity> {
  const { chassis } = settings;
  const found =
    chassis.find(({ UUID }) => UUID === id.toLowerCase()) ??
    chassis.find(({ Name }) => Name === id) ??
    chassis.find(({ Id }) => Id === id);
  if (found === undefined) throw refuse('ResourceNotFound', 'Chassis', id);
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
 * Sets the indicator of a chassis, and what else a change says of the machine whose chassis it is: both have the same UUID.
 * @throws {DriverError} of the driver. @throws {Error} where the service can not keep that of a shared one.
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
  if (Object.keys(change).length > 0) await driver.change(uuid, change);
}
