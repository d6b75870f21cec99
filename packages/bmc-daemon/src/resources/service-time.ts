/** Formats the clock of the service and of its managers, which is always in UTC. */

/**
 * Formats a time as DMTF's date-time with a numeric offset: `2026-11-22T09:30:00+00:00`.
 * @see DSP0266, date-time values
 */
export function serviceTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, '+00:00');
}
