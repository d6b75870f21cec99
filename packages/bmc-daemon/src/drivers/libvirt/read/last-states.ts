/** The last known states of the machines of one host, across losses of the connection. */
import type { DomainState } from '../../snapshot/system-snapshot.js';
import type { MachineChangeKind } from '../../machine-change.js';

/** A machine with its last known state. */
interface LastState {
  readonly name: string;
  readonly state: DomainState;
}

/** Changes that only a running or paused machine can have. */
const changesOfMachinesThatAreOn: ReadonlySet<MachineChangeKind> = new Set([
  'stopped',
  'crashed',
  'paused',
  'resumed',
  'suspended',
  'shuttingDown',
]);

/**
 * The last known states. After a loss of the connection, a state is *outdated* until an event or a read of the new
 * connection confirms it. A change from an outdated state may be one of several: a machine that was running, and that
 * now starts, has stopped before.
 */
export class LastStates {
  readonly #states = new Map<string, LastState>();
  readonly #outdated = new Set<string>();
  /**
   * Existing machines with an event since {@link beginListing}. The list may be older than the
   * event, and lack the machine.
   */
  readonly #changed = new Set<string>();
  /** Machines that were removed since {@link beginListing}. */
  readonly #removed = new Set<string>();
  #isComplete = false;

  /** Whether all machines of the host were listed once. Before that, an unknown machine is not necessarily new. */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /** Marks all states as outdated, because the connection was lost. */
  expire(): void {
    for (const uuid of this.#states.keys()) this.#outdated.add(uuid);
  }

  /** Returns whether a state of a machine is known, perhaps an outdated one. */
  has(uuid: string): boolean {
    return this.#states.has(uuid);
  }

  /** Returns the last known state of a machine, even if it is outdated; undefined if none is known. */
  get(uuid: string): LastState | undefined {
    return this.#states.get(uuid);
  }

  /** Returns whether a machine runs or is paused, as far as known. */
  isOn(uuid: string): boolean {
    const state = this.#states.get(uuid)?.state;
    return state !== undefined && state !== 'shutoff' && state !== 'crashed';
  }

  /**
   * Returns the change that must have happened before a reported change. Returns undefined if there is none,
   * or if the known state of the machine is not outdated.
   */
  missedBefore(uuid: string, kind: MachineChangeKind): 'started' | 'stopped' | undefined {
    if (!this.#outdated.has(uuid)) return undefined;
    if (kind === 'started') return this.isOn(uuid) ? 'stopped' : undefined;
    return changesOfMachinesThatAreOn.has(kind) && !this.isOn(uuid) ? 'started' : undefined;
  }

  /**
   * Records an event of a machine.
   * @param state the state after the event; undefined: the event does not change it. After {@link complete},
   *   a machine without a known state then counts as off.
   */
  note(uuid: string, name: string, state: DomainState | undefined): void {
    this.#changed.add(uuid);
    this.#removed.delete(uuid);
    const after = state ?? this.#states.get(uuid)?.state ?? (this.#isComplete ? 'shutoff' : undefined);
    if (after !== undefined) this.#states.set(uuid, { name, state: after });
    if (state !== undefined) this.#outdated.delete(uuid);
  }

  /** Records the event of a removal. */
  noteRemoval(uuid: string): void {
    this.#changed.delete(uuid);
    this.#removed.add(uuid);
    this.remove(uuid);
  }

  /** Sets a state that was read. */
  set(uuid: string, last: LastState): void {
    this.#states.set(uuid, last);
    this.#outdated.delete(uuid);
  }

  /** Removes a machine. @returns whether it was known. */
  remove(uuid: string): boolean {
    this.#outdated.delete(uuid);
    return this.#states.delete(uuid);
  }

  /** Begins to record which machines have events. Call this before a list is read. */
  beginListing(): void {
    this.#changed.clear();
    this.#removed.clear();
  }

  /**
   * Returns whether the state of a listed machine must be read, because neither an event nor a read has
   * reported it since the last loss of the connection.
   */
  mustRead(uuid: string): boolean {
    return this.#outdated.has(uuid) || (!this.#states.has(uuid) && !this.#removed.has(uuid));
  }

  /** Returns the outdated machines that are not in a list, and that had no event since {@link beginListing}. */
  missingIn(listed: ReadonlySet<string>): readonly string[] {
    return [...this.#outdated].filter((uuid) => !listed.has(uuid) && !this.#changed.has(uuid));
  }

  /** Marks the states as complete: all listed machines were read. */
  complete(): void {
    this.#isComplete = true;
  }
}
