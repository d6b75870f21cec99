/** The last known data of the machines of one host, for the time while the host does not answer. */
import { z } from 'zod';
import { stateAfter, type MachineChange } from '../machine-change.js';
import type { DomainState, SystemRef, SystemSnapshot } from '../snapshot/system-snapshot.js';
import type { Silence } from './host-watch.js';

// prettier-ignore
const states = [
  'nostate', 'running', 'blocked', 'paused', 'shutdown', 'shutoff', 'crashed', 'pmsuspended',
] as const satisfies readonly DomainState[];

/** The stored data of a machine: enough to list it, and to show its power state and its size. */
export const storedMachine = z.object({
  uuid: z.guid(),
  name: z.string(),
  state: z.enum(states).optional(),
  title: z.string().nullable().optional(),
  description: z.string().nullable().optional(),
  architecture: z.string().optional(),
  memoryKiB: z.number().optional(),
  processors: z
    .object({
      count: z.number(),
      sockets: z.number(),
      coresPerSocket: z.number(),
      threadsPerCore: z.number(),
      model: z.string().nullable(),
    })
    .optional(),
  assetTag: z.string().nullable().optional(),
});

/** A machine in the state folder. */
export type StoredMachine = z.infer<typeof storedMachine>;

let versions = 0;
const nextVersion = (): number => (versions += 1);

/** The machines of one host, as far as known. */
export class KnownMachines {
  readonly #host: string;
  #list: readonly SystemRef[] | undefined;
  #refs: ReadonlyMap<string, SystemRef>;
  readonly #snapshots = new Map<string, SystemSnapshot>();
  readonly #states = new Map<string, DomainState>();
  /** Machines that migrate to this host, and have no state here yet. */
  readonly #arriving = new Set<string>();
  /**
   * The snapshots that {@link last} has returned in one silence, so that two reads return the same
   * object.
   */
  #last: { readonly silence: Silence; readonly shown: Map<string, SystemSnapshot> } | undefined;
  #isListed: boolean;
  #version = nextVersion();

  /** @param stored the machines in the state folder; undefined: the host has never been listed. */
  constructor(host: string, stored: readonly StoredMachine[] | undefined) {
    this.#host = host;
    this.#isListed = stored !== undefined;
    this.#refs = refsOf(stored ?? [], host);
    for (const { state, ...machine } of stored ?? []) {
      if (state !== undefined) this.#remember({ ...withoutUndefined(machine), state, host });
    }
  }

  /** Whether the host was ever listed, perhaps by an earlier process. */
  get isListed(): boolean {
    return this.#isListed;
  }

  /**
   * Grows with each change of the machines or their names. The new value is higher than the
   * versions of all other hosts.
   */
  get version(): number {
    return this.#version;
  }

  /** The machines by UUID. */
  get refs(): ReadonlyMap<string, SystemRef> {
    return this.#refs;
  }

  /** Replaces the machines by a new list. Removes the data of machines that the list lacks. */
  replace(list: readonly SystemRef[]): void {
    this.#isListed = true;
    if (list === this.#list) return;
    this.#list = list;
    const same = list.length === this.#refs.size && list.every(({ uuid, name }) => this.#refs.get(uuid)?.name === name);
    if (same) return;
    this.#setRefs(refsOf(list, this.#host));
    for (const known of [this.#snapshots, this.#states, this.#arriving]) {
      for (const uuid of known.keys()) if (!this.#refs.has(uuid)) known.delete(uuid);
    }
  }

  /** Notes a change that the host reported. */
  note(change: MachineChange): void {
    const { kind, uuid, name } = change;
    if (kind === 'undefined') {
      this.remove(uuid);
      return;
    }
    // A newly defined machine is off. A machine that migrates to this host is known before its
    // `defined` event, and then keeps its unknown state.
    const isNew = kind === 'defined' && !this.#refs.has(uuid);
    this.add({ uuid, name });
    const state = isNew ? 'shutoff' : stateAfter[kind];
    if (state !== undefined) this.#setState(uuid, state);
  }

  /** Adds a machine, or changes its name. */
  add({ uuid, name }: SystemRef): void {
    if (this.#refs.get(uuid)?.name === name) return;
    this.#setRefs(new Map(this.#refs).set(uuid, { uuid, name, host: this.#host }));
  }

  /** Adds a machine that migrates to this host. It has no state here before it runs here. */
  arrive(machine: SystemRef): void {
    this.add(machine);
    this.#states.delete(machine.uuid);
    this.#arriving.add(machine.uuid);
  }

  /** Removes a machine. */
  remove(uuid: string): void {
    this.#snapshots.delete(uuid);
    this.#states.delete(uuid);
    this.#arriving.delete(uuid);
    if (!this.#refs.has(uuid)) return;
    const refs = new Map(this.#refs);
    refs.delete(uuid);
    this.#setRefs(refs);
  }

  /** Stores the result of a read. Adds the machine if it is new. */
  remember(snapshot: SystemSnapshot): void {
    this.add(snapshot);
    this.#remember(snapshot);
  }

  /** Stores the result of a read, unless the machine was removed meanwhile. */
  update(snapshot: SystemSnapshot): void {
    if (this.#refs.has(snapshot.uuid)) this.remember(snapshot);
  }

  /** Whether there is a machine without known data. */
  get hasUnread(): boolean {
    return this.#snapshots.size < this.#refs.size;
  }

  /** Returns whether data of a machine is known, from a read or from the state folder. */
  isRead(uuid: string): boolean {
    return this.#snapshots.has(uuid);
  }

  /** Returns the last known state of a machine; undefined if none is known. */
  stateOf(uuid: string): DomainState | undefined {
    return this.#states.get(uuid);
  }

  /** Returns whether a machine migrates to this host, and does not run here yet. */
  isArriving(uuid: string): boolean {
    return this.#arriving.has(uuid);
  }

  /** Returns whether a machine was migrating from or to this host when it was last read. */
  isMigrating(uuid: string): boolean {
    return this.#snapshots.get(uuid)?.migrating === true;
  }

  /** Returns the last known data of a machine, with the silence of its host; undefined if none is known. */
  last(uuid: string, silence: Silence): SystemSnapshot | undefined {
    if (this.#last?.silence !== silence) this.#last = { silence, shown: new Map() };
    const { shown } = this.#last;
    const known = shown.get(uuid);
    if (known !== undefined) return known;
    const snapshot = this.#snapshots.get(uuid);
    if (snapshot === undefined) return undefined;
    const state = this.#states.get(uuid) ?? snapshot.state;
    const { reason, since } = silence;
    const why = reason === null ? { unansweredSince: since } : { unreachable: { reason, since } };
    const last = { ...snapshot, state, host: this.#host, ...why };
    shown.set(uuid, last);
    return last;
  }

  /** Returns the machines for the state folder. */
  stored(): readonly StoredMachine[] {
    return [...this.#refs.values()].map(({ uuid, name }) => {
      const snapshot = this.#snapshots.get(uuid);
      if (snapshot === undefined) return { uuid, name };
      const { title, description, architecture, memoryKiB, processors, assetTag } = snapshot;
      const state = this.#states.get(uuid) ?? snapshot.state;
      const size = { memoryKiB, processors };
      return withoutUndefined({ uuid, name, state, title, description, architecture, ...size, assetTag });
    });
  }

  #remember(snapshot: SystemSnapshot): void {
    this.#snapshots.set(snapshot.uuid, snapshot);
    // Ignores the state during a migration, because the migration pauses the machine only for a moment.
    if (snapshot.migrating !== true) this.#setState(snapshot.uuid, snapshot.state);
  }

  #setState(uuid: string, state: DomainState): void {
    this.#states.set(uuid, state);
    this.#arriving.delete(uuid);
  }

  #setRefs(refs: ReadonlyMap<string, SystemRef>): void {
    this.#refs = refs;
    this.#version = nextVersion();
  }
}

function refsOf(list: readonly SystemRef[], host: string): ReadonlyMap<string, SystemRef> {
  return new Map(list.map(({ uuid, name }) => [uuid, { uuid, name, host }]));
}

/** Drops members with the value undefined, as JSON does. */
function withoutUndefined<Value extends object>(
  value: Value,
): { [Key in keyof Value]: Exclude<Value[Key], undefined> } {
  // Only members with the value undefined are missing, and their types do not require them.
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as {
    [Key in keyof Value]: Exclude<Value[Key], undefined>;
  };
}
