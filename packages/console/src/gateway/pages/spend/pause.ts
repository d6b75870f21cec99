/** The pause between two reads of the usage. */

const MIN_PAUSE_MS = 5000;
const MAX_PAUSE_MS = 300_000;
/** The pause as a multiple of the duration of a read. A report of many keys takes the proxy seconds. */
const PAUSE_FACTOR = 20;

/**
 * Returns the pause after a read, in milliseconds. After a failed read, it is the shortest one: the failure says nothing
 * about the duration of a report.
 */
export function pauseAfter(durationMs: number, hasSucceeded: boolean): number {
  return hasSucceeded ? Math.min(Math.max(MIN_PAUSE_MS, durationMs * PAUSE_FACTOR), MAX_PAUSE_MS) : MIN_PAUSE_MS;
}
