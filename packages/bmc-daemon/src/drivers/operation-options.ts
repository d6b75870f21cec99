/** Options of operations that take time. */

/** Options of an operation that may wait: `signal` ends the wait, with its reason. */
export interface OperationOptions {
  readonly signal?: AbortSignal;
}

/** Options of an insert, with its download. */
export interface InsertOptions extends OperationOptions {
  /** Receives 0 to 100 during the download; never called if the size is unknown. */
  readonly onProgress?: (percent: number) => void;
}
