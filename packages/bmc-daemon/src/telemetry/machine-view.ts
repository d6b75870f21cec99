/** Restricts telemetry to one machine, for requests at this machine's own address. */
import type { Telemetry } from './telemetry.js';

/**
 * Restricts `kept` to the machine. It returns stored reports of any machine while the driver does
 * not answer; everything else asks the driver, which is restricted already.
 */
export function telemetryOf(all: Telemetry, uuid: string): Telemetry {
  return {
    ...all,
    get enabled() {
      return all.enabled;
    },
    kept: (id) => (id === uuid ? all.kept(id) : undefined),
  };
}
