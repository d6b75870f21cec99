/** The entries of the shared store, and their changes. */

/** An entry of the store; never mutated. */
export interface StoredEntry {
  readonly id: string;
  /** Number of the change that wrote the entry. Each change of the store has a higher number than the one before. */
  readonly revision: number;
  /** Parsed JSON; undefined if it is not JSON. */
  readonly value: unknown;
}

/** Names an entry that has changed, or that was deleted. */
export interface ChangedEntry {
  /** Kind of the entry, for example `session`. */
  readonly kind: string;
  readonly id: string;
}

/** Receives the entries that may have changed; null: all. Must not throw. */
export type ChangeListener = (changed: readonly ChangedEntry[] | null) => void;

/** A change of one entry. */
export interface EntryChange extends ChangedEntry {
  /** The entry's revision before the change; 0: there must be no entry. Default: any. */
  readonly expected?: number;
  /** The new value, as JSON can hold it; null deletes the entry. */
  readonly value: object | null;
}
