/** Machines in the URIs of subscriptions and of filters. */
import { matching } from '../../drivers/by-machine.js';
import type { HypervisorDriver } from '../../drivers/driver.js';
import { DriverError } from '../../drivers/driver-error.js';
import type { SystemRef } from '../../drivers/snapshot/system-snapshot.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { withDetail, type Message } from '../../redfish/messages/messages.js';
import { decodeSegment } from '../../redfish/rendering.js';
import type { Services } from './services.js';

/** The beginnings of the URIs that contain a machine, and the machine's UUID or name. `''` is a quote in a filter. */
const machineUri = /(\/redfish\/v1\/(?:Systems|Managers|TelemetryService\/MetricReportDefinitions)\/)((?:[^/']|'')+)/g;
const canonicalUuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Replaces the names of machines in URIs by UUIDs, because the URIs of events and reports contain UUIDs. Leaves
 * unknown names unchanged.
 * @param texts URIs, or texts that contain URIs, for example a filter.
 * @param fault the message of an error, which names the property or the parameter with the texts.
 * @throws {RedfishError} 400 for a name that several machines have.
 * @throws {DriverError} unavailable; never if all ids in the texts are UUIDs in lower case.
 */
export async function withUuids(texts: readonly string[], fault: Message, { driver }: Services): Promise<string[]> {
  const ids = texts.flatMap((text) => [...text.matchAll(machineUri)].map(([, , id = '']) => id));
  if (ids.every((id) => canonicalUuid.test(id))) return [...texts];
  const machines = await driver.listSystems();
  return texts.map((text) =>
    text.replace(machineUri, (whole, path: string, id: string) => {
      const machine = namedMachine(machines, decodeSegment(id.replaceAll("''", "'")), fault, driver);
      return machine === undefined ? whole : `${path}${machine.uuid}`;
    }),
  );
}

/**
 * Returns the machine with a UUID or a name; undefined if there is none.
 * @param fault the message of an error, which names a part of the request.
 * @throws {RedfishError} 400 for a name that several machines have.
 * @throws {DriverError} unavailable, if a host that has never answered may have the machine.
 */
export function namedMachine(
  machines: readonly SystemRef[],
  id: string,
  fault: Message,
  driver: Pick<HypervisorDriver, 'isListIncomplete'>,
): SystemRef | undefined {
  const [machine, ...others] = matching(machines, id);
  if (others.length > 0)
    throw new RedfishError(400, [withDetail(fault, `Several machines have the name ${id}. Use a UUID.`)]);
  if (machine === undefined && driver.isListIncomplete?.() === true)
    throw new DriverError('unavailable', `looking up machine ${id}: a host has not answered yet`);
  return machine;
}
