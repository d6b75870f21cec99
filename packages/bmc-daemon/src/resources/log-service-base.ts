/** What every log of this service says of itself. */
import type { JsonObject } from '../redfish/resource.js';
import { reference } from './reference.js';
import { enabled } from './status.js';

/** @param self of the LogService. */
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
