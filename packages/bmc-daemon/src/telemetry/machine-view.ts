/** Restricts telemetry to one machine, for requests that use the name or address of its manager. */
import type { Telemetry } from './telemetry.js';

/**
 * Restricts `storedReport` to the machine, because this method finds reports without the driver.
 * Callers of the other methods find their machines with the driver, which is restricted already.
 */
export function telemetryOf(all: Telemetry, uuid: string): Telemetry {
  return {
    ...all,
    get enabled() {
      return all.enabled;
    },
    storedReport: (id) => (id === uuid ? all.storedReport(id) : undefined),
  };
}
