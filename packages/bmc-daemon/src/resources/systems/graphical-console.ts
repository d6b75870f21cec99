/**
 * Graphical consoles in a browser, for example noVNC. DMTF's GraphicalConsole has no property for a
 * URL, and the URL holds a secret that expires. So an OEM action creates it for one client.
 */
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { redfishError } from '../../redfish/messages/errors.js';
import type { JsonObject, WriteResult } from '../../redfish/resource.js';
import type { Services } from '../services.js';

/**
 * Renders the system's GraphicalConsole; empty if the machine has none.
 * @see DSP2046, ComputerSystem, HostGraphicalConsole
 */
export function renderGraphicalConsole({ hasGraphicalConsole }: SystemSnapshot): JsonObject {
  if (hasGraphicalConsole !== true) return {};
  return { GraphicalConsole: { ServiceEnabled: true, ConnectTypesSupported: ['KVMIP'] } };
}

/** Creates access to the console. @throws {DriverError} of the driver. */
export async function openConsole(
  { uuid }: SystemSnapshot,
  { driver }: Pick<Services, 'driver'>,
): Promise<WriteResult> {
  if (driver.graphicalConsole === undefined) throw redfishError('OperationNotAllowed');
  const { url, protocol, type } = await driver.graphicalConsole.open(uuid);
  return { response: { Url: url, Protocol: protocol, Type: type } };
}
