/** The clock for times that the processes of a host compare, such as the end of a cooldown. */
import { performance } from 'node:perf_hooks';

/** When this process started, on the clock of the host. `performance.now()` counts from then. */
const processStartMs = Number(process.hrtime.bigint()) / 1e6 - performance.now();

/**
 * Returns milliseconds since the host started. All processes of the host have the same time. It never goes back. So
 * the end of a cooldown does not move if an operator or NTP sets the time of day.
 */
export function hostTimeMs(): number {
  return processStartMs + performance.now();
}
