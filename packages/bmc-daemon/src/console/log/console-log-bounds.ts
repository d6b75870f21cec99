/** Limits of the console logs. */
import type { ConsoleLogLimits } from './console-log-folder.js';
import type { RecordingPace } from './console-log-recording.js';

/** Limits of size, number and time for the console logs. */
export interface ConsoleLogBounds extends ConsoleLogLimits, RecordingPace {
  /** Maximum number of records in the log of a machine, as clients see it. A record is a line or a boot. */
  readonly records: number;
  /**
   * Maximum number of bytes of text on the disk, for all machines. Above it, the oldest boots are removed,
   * but never the last boot of a machine.
   */
  readonly totalBytes: number;
  /** The minimum time between two warnings about failed writes. */
  readonly warnEveryMs: number;
  /** The pause after a failed or incomplete list of machines, and after the first failure to remove an old folder. */
  readonly failurePauseMs: number;
}

const KIB = 1024;

/**
 * The default limits. They store at least the first and the last 256 KiB of a boot. Less text is stored if the guest
 * prints only a few bytes a second: a file then reaches its maximum number of marks (times) before it is full.
 */
export const consoleLogBounds: ConsoleLogBounds = {
  segmentBytes: 64 * KIB,
  firstSegments: 4,
  lastSegments: 5,
  boots: 8,
  records: 1_000,
  totalBytes: 512 * KIB * KIB,
  flushMs: 1_000,
  flushBytes: 32 * KIB,
  maxPending: 64 * KIB,
  bytesPerSecond: 16 * KIB,
  burstBytes: 512 * KIB,
  retryMs: 10_000,
  warnEveryMs: 600_000,
  failurePauseMs: 5_000,
};
