/**
 * Machines with the details that a resource shows. If the details are absent, the machine does not
 * have the resource.
 */
import type { MediaControl } from '../drivers/media-control.js';
import type { SystemDetails, SystemSnapshot } from '../drivers/snapshot/system-snapshot.js';
import { redfishError } from '../redfish/messages/errors.js';
import type { Services } from './services.js';

/** A machine with some details. */
export type SystemWith<Name extends keyof SystemDetails> = SystemSnapshot & Pick<SystemDetails, Name>;

/** The details that Bios shows. */
export const biosDetails = ['firmware'] as const satisfies readonly (keyof SystemDetails)[];

/** Returns whether a machine has the given details. */
export function hasDetails<Name extends keyof SystemDetails>(
  system: SystemSnapshot,
  ...names: readonly Name[]
): system is SystemWith<Name> {
  return names.every((name) => system[name] !== undefined);
}

/**
 * Reads a machine with the details of a resource.
 * @param resource path below the system, for the error, such as `Processors`.
 * @throws {RedfishError} 404 if the machine lacks a detail.
 * @throws {DriverError} of the driver.
 */
export async function readSystem<Name extends keyof SystemDetails>(
  id: string,
  resource: string,
  { driver }: Pick<Services, 'driver'>,
  ...names: readonly Name[]
): Promise<SystemWith<Name>> {
  const system = await driver.getSystem(id, names);
  if (!hasDetails(system, ...names))
    throw redfishError('ResourceMissingAtURI', `/redfish/v1/Systems/${id}/${resource}`);
  return system;
}

/** Returns whether a machine has virtual media drives and the driver supports virtual media. */
export function showsMedia({ media }: Pick<SystemSnapshot, 'media'>, { driver }: Pick<Services, 'driver'>): boolean {
  return media !== undefined && driver.media !== undefined;
}

/** Returns the virtual media of the driver. @throws {RedfishError} 404 if the driver has none. */
export function mediaOf({ driver }: Pick<Services, 'driver'>): MediaControl {
  if (driver.media === undefined) throw redfishError('ResourceNotFound', 'VirtualMediaCollection', 'VirtualMedia');
  return driver.media;
}
