/** Properties that all logs of the service share. */
import type { JsonObject } from '../redfish/resource.js';
import { reference } from './reference.js';
import { enabled } from './status.js';

/**
 * Renders the shared properties.
 * @param self URI of the LogService.
 * @see DSP2046, LogService
 */
export function logServiceBase(self: string): JsonObject {
  return {
    ServiceEnabled: true,
    OverWritePolicy: 'WrapsWhenFull',
    Persistency: true,
    DateTimeLocalOffset: '+00:00',
    Status: enabled,
    Entries: reference(`${self}/Entries`),
  };
}
