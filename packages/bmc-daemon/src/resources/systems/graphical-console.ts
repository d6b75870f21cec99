/**
 * Graphical consoles in a browser, for example noVNC. DMTF's GraphicalConsole has no property for a
 * URL. The WebSocket of a screen is below the machine's URI. The URL of a hypervisor's own proxy
 * contains a secret that expires, so an OEM action creates a URL for one client.
 */
import type { SystemSnapshot } from '../../drivers/snapshot/system-snapshot.js';
import { maxViewersPerMachine } from '../../offers/screens.js';
import { z } from 'zod';
import type { SystemChange } from '../../drivers/system-change.js';
import { redfishError } from '../../redfish/messages/errors.js';
import { message, type Message } from '../../redfish/messages/messages.js';
import type { JsonObject, WriteResult } from '../../redfish/resource.js';
import type { Services } from '../services.js';

/**
 * Renders the system's GraphicalConsole; empty if neither this service nor the hypervisor offers the
 * graphical console of the machine.
 * @see DSP2046, ComputerSystem, HostGraphicalConsole
 */
export function renderGraphicalConsole(
  { hasGraphicalConsole }: Pick<SystemSnapshot, 'hasGraphicalConsole'>,
  { driver, screens }: Pick<Services, 'driver' | 'screens'>,
): JsonObject {
  const isProxied = driver.graphicalConsole !== undefined && hasGraphicalConsole === true;
  if (screens === null && !isProxied) return {};
  return {
    GraphicalConsole: {
      ServiceEnabled: hasGraphicalConsole === true,
      ...(screens === null ? {} : { MaxConcurrentSessions: maxViewersPerMachine }),
      ConnectTypesSupported: ['KVMIP'],
    },
  };
}

/**
 * Schema of GraphicalConsole in a PATCH. A display is part of the definition, so clients cannot
 * remove it.
 */
export const graphicalConsoleBody = {
  GraphicalConsole: z.strictObject({ ServiceEnabled: z.literal(true).optional() }).optional(),
};

/**
 * Returns the change of a body, and, unless the machine is off, the message that it needs a restart for this change.
 * Both are empty if the machine has a display already, or the body does not request one.
 */
export function wantedDisplay(
  { hasGraphicalConsole, state, uuid }: SystemSnapshot,
  body: z.infer<z.ZodObject<typeof graphicalConsoleBody>>,
): { readonly change: Pick<SystemChange, 'display'>; readonly messages: readonly Message[] } {
  if (body.GraphicalConsole?.ServiceEnabled !== true || hasGraphicalConsole === true)
    return { change: {}, messages: [] };
  const reset = `/redfish/v1/Systems/${uuid}/Actions/ComputerSystem.Reset`;
  return {
    change: { display: true },
    messages: state === 'shutoff' ? [] : [message('ResetRequired', reset, 'PowerCycle')],
  };
}

/**
 * Creates a URL with which a client opens the console, and returns it as the response.
 * @throws {RedfishError} if the driver has no graphical consoles.
 * @throws {DriverError} of the driver.
 */
export async function openConsole(
  { uuid }: SystemSnapshot,
  { driver }: Pick<Services, 'driver'>,
): Promise<WriteResult> {
  if (driver.graphicalConsole === undefined) throw redfishError('OperationNotAllowed');
  const { url, protocol, type } = await driver.graphicalConsole.open(uuid);
  return { response: { Url: url, Protocol: protocol, Type: type } };
}
