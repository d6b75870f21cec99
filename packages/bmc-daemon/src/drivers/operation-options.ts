/** Options of operations that take time. */
import type { SystemSnapshot } from './snapshot/system-snapshot.js';

/**
 * Options of an operation that may wait. `signal` ends the wait: the operation rejects with the reason of the
 * signal.
 */
export interface OperationOptions {
  readonly signal?: AbortSignal;
}

/** Options of a change. */
export interface ChangeOptions extends InsertOptions {
  /**
   * The snapshot that the request was checked against. If the machine has not changed since, the
   * driver may use it instead of another read.
   */
  readonly basis?: SystemSnapshot;
}

/** Options of an insert, including its download. */
export interface InsertOptions extends OperationOptions {
  /** Receives 0 to 100 during the download; never called if the size is unknown. */
  readonly onProgress?: (percent: number) => void;
}

/**
 * Returns a signal that aborts as soon as one of two signals aborts.
 * @param signal the signal of the caller; undefined: there is none.
 */
export function endOf(signal: AbortSignal | undefined, other: AbortSignal): AbortSignal {
  return signal === undefined ? other : AbortSignal.any([signal, other]);
}
