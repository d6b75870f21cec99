/** The clock of the service and of its managers. It runs on UTC, whatever the host's time zone. */

/** DMTF's date and time with the offset as a number: `2026-11-22T09:30:00+00:00`. */
export function serviceTime(time: Date): string {
  return time.toISOString().replace(/\.\d+Z$/, '+00:00');
}
