/** The entries of the shared store, and their changes. */

/** An entry of the store; never mutated. */
export interface StoredEntry {
  readonly id: string;
  /** Number of the change that wrote the entry. Each change of the store has a higher number than the one before. */
  readonly revision: number;
  /** Parsed JSON; undefined if it is not JSON. */
  readonly value: unknown;
}

/** A change of one entry. */
export interface EntryChange {
  /** Kind of the entry, for example `session`. */
  readonly kind: string;
  readonly id: string;
  /** The entry's revision before the change; 0: there must be no entry. Default: any. */
  readonly expected?: number;
  /** The new value, as JSON can hold it; null deletes the entry. */
  readonly value: object | null;
}
