/** Machines in the URIs of subscriptions and of filters. */
import { matching } from '../../drivers/by-machine.js';
import { decodeSegment } from '../../redfish/rendering.js';
import type { Services } from './services.js';

/** The beginnings of the URIs that contain a machine, and the machine's UUID or name. */
const machineUri = /(\/redfish\/v1\/(?:Systems|Managers|TelemetryService\/MetricReportDefinitions)\/)([^/']+)/g;
const canonicalUuid = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/;

/**
 * Replaces the names of machines in URIs by UUIDs, because the URIs of events and reports contain UUIDs. Leaves unknown
 * and ambiguous names unchanged.
 * @param texts URIs, or texts that contain URIs, for example a filter.
 * @throws {DriverError} unavailable; never for texts without names.
 */
export async function withUuids(texts: readonly string[], { driver }: Services): Promise<string[]> {
  const ids = texts.flatMap((text) => [...text.matchAll(machineUri)].map(([, , id = '']) => id));
  if (ids.every((id) => canonicalUuid.test(id))) return [...texts];
  const machines = await driver.listSystems();
  return texts.map((text) =>
    text.replace(machineUri, (whole, path: string, id: string) => {
      const [machine, ...others] = matching(machines, decodeSegment(id));
      return machine === undefined || others.length > 0 ? whole : `${path}${machine.uuid}`;
    }),
  );
}
