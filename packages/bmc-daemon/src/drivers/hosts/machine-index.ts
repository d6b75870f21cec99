/** The machines of all hosts, and the host that serves each of them. */
import { matching } from '../by-machine.js';
import { changeOfState, type MachineChange } from '../machine-change.js';
import type { DomainState, SystemRef } from '../snapshot/system-snapshot.js';
import type { HostMember } from './host-member.js';

/** Dependencies of {@link MachineIndex}. */
interface MachineIndexOptions {
  /** Returns the hosts, in the order of the configuration. */
  readonly members: () => readonly HostMember[];
  /**
   * Called with `moved` when another host begins to serve a machine, unless both hosts have the same name. Then
   * called with the change of the state, if the state on the new host differs.
   */
  readonly onMoved: (change: MachineChange) => void;
}

/**
 * Maximum time that the daemon waits for the end of a move without a live migration. `virsh migrate --offline`,
 * and an administrator who moves a definition by hand, need less. After this time, the daemon reports a machine on
 * two hosts as a duplicate, and a machine that left its host as removed.
 */
export const MOVE_WAIT_MS = 10_000;

interface Merged {
  readonly members: readonly HostMember[];
  /** The highest {@link KnownMachines.version} of all hosts. */
  readonly version: number;
  /** The hosts that have a machine of the given UUID. */
  readonly holders: ReadonlyMap<string, readonly HostMember[]>;
}

/**
 * Merges the machines of all hosts by UUID. If several hosts have a machine of the same UUID, one
 * of them serves it. The host where it runs has precedence, then the host where it is paused. If
 * several are equal, a host that answers has precedence, then the host that served it before, then the
 * order of the configuration. So a copy that is off, or that runs on a lost host, does not take over a running machine.
 */
export class MachineIndex {
  readonly #options: MachineIndexOptions;
  /** The host that serves a machine. */
  readonly #owners = new Map<string, HostMember>();
  #merged: Merged = { members: [], version: 0, holders: new Map() };
  #list: { readonly merged: Merged; readonly moves: number; readonly refs: readonly SystemRef[] } | undefined;
  /** Grows with each change of an owner. */
  #moves = 0;
  /**
   * By UUID: the time from which several hosts have had a machine, in monotonic milliseconds. A migration resets it.
   */
  #sharedSince = new Map<string, number>();

  constructor(options: MachineIndexOptions) {
    this.#options = options;
  }

  /** Returns the hosts that have a machine of the given UUID, in the order of the configuration. */
  holders(uuid: string): readonly HostMember[] {
    return this.#holders().get(uuid) ?? [];
  }

  /**
   * Returns the hosts if several have had a machine of the given UUID for at least
   * {@link MOVE_WAIT_MS}; else undefined. The time restarts while the machine migrates, because at the beginning
   * and at the end of a migration, both hosts have the machine for a short time.
   */
  duplicates(uuid: string): readonly HostMember[] | undefined {
    const holders = this.holders(uuid);
    const since = this.#sharedSince.get(uuid);
    if (since === undefined || holders.length < 2) return undefined;
    const now = performance.now();
    if (holders.some(({ known }) => known.isMigrating(uuid))) this.#sharedSince.set(uuid, now);
    else if (now - since >= MOVE_WAIT_MS) return holders;
    return undefined;
  }

  /** Returns the host to which a machine migrates now; undefined if it does not migrate, or this host is lost. */
  migrationTarget(uuid: string): HostMember | undefined {
    return this.holders(uuid).find(({ known, watch }) => watch.loss === null && known.isArriving(uuid));
  }

  /** Returns the host that serves a machine, decided and reported by {@link settle}; undefined if no host has it. */
  owner(uuid: string): HostMember | undefined {
    return this.settle(uuid, this.recordedOwner(uuid)?.known.stateOf(uuid));
  }

  /** Returns the host that the last decision selected; undefined if there was no decision for the machine. */
  recordedOwner(uuid: string): HostMember | undefined {
    return this.#owners.get(uuid);
  }

  /**
   * Decides which host serves a machine. If another host served it before, reports the move, and the state of the
   * machine on the new host if this state differs.
   * @param before the state of the machine on the former host.
   * @returns undefined if no host has the machine.
   */
  settle(uuid: string, before: DomainState | undefined): HostMember | undefined {
    const former = this.#owners.get(uuid);
    const holders = this.holders(uuid);
    const [first] = holders;
    if (first === undefined) return undefined;
    const owner = holders.length === 1 ? first : holders.reduce((best, next) => better(uuid, best, next, former));
    if (owner === former) return owner;
    this.#owners.set(uuid, owner);
    this.#moves += 1;
    if (former !== undefined) this.#reportMove(uuid, former, owner, before);
    return owner;
  }

  /** Forgets which host served a machine that no host has anymore. */
  forget(uuid: string): void {
    this.#owners.delete(uuid);
  }

  /** Returns all machines, each once. Returns the same array while nothing changes. */
  list(): readonly SystemRef[] {
    const holders = this.#holders();
    const merged = this.#merged;
    // If no machine was added or removed, only machines on several hosts can get another owner.
    for (const uuid of this.#list?.merged === merged ? this.#sharedSince.keys() : holders.keys()) this.owner(uuid);
    if (this.#list?.merged === merged && this.#list.moves === this.#moves) return this.#list.refs;
    const refs = [...holders.keys()].flatMap((uuid) => this.#owners.get(uuid)?.known.refs.get(uuid) ?? []);
    this.#list = { merged, moves: this.#moves, refs };
    return refs;
  }

  /** Returns the machine with the given UUID, or all machines with the given name. */
  matching(id: string): readonly SystemRef[] {
    const uuid = id.toLowerCase();
    const found = this.owner(uuid)?.known.refs.get(uuid);
    return found === undefined ? matching(this.list(), id) : [found];
  }

  #holders(): Merged['holders'] {
    const members = this.#options.members();
    // Each change has a higher version than all changes before, on all hosts.
    const version = members.reduce((highest, { known }) => Math.max(highest, known.version), 0);
    if (members === this.#merged.members && version === this.#merged.version) return this.#merged.holders;
    const holders = new Map<string, HostMember[]>();
    for (const member of members) {
      for (const uuid of member.known.refs.keys()) {
        const others = holders.get(uuid);
        if (others === undefined) holders.set(uuid, [member]);
        else others.push(member);
      }
    }
    this.#merged = { members, version, holders };
    const shared = [...holders.keys()].filter((uuid) => (holders.get(uuid)?.length ?? 0) > 1);
    this.#sharedSince = new Map(shared.map((uuid) => [uuid, this.#sharedSince.get(uuid) ?? performance.now()]));
    return holders;
  }

  #reportMove(uuid: string, from: HostMember, to: HostMember, before: DomainState | undefined): void {
    const name = to.known.refs.get(uuid)?.name ?? uuid;
    // The names are equal if a new configuration has another URI for the host.
    if (from.name !== to.name)
      this.#options.onMoved({ kind: 'moved', uuid, name, reason: `from host ${from.name} to host ${to.name}` });
    const after = to.known.stateOf(uuid);
    const kind = before === undefined || after === undefined ? undefined : changeOfState(before, after);
    if (kind !== undefined) this.#options.onMoved({ kind, uuid, name, reason: `on host ${to.name}` });
  }
}

/** Returns which of two hosts serves a machine. If they are equal, returns the first. */
function better(uuid: string, first: HostMember, second: HostMember, former: HostMember | undefined): HostMember {
  const rank = (member: HostMember): number => {
    const activity = activityOf(member.known.stateOf(uuid));
    return activity * 4 + (member.watch.loss === null ? 2 : 0) + (member === former ? 1 : 0);
  };
  return rank(second) > rank(first) ? second : first;
}

/** Returns 0 for a machine that is off or has no known state, 1 for a paused one, 2 for all other states. */
function activityOf(state: DomainState | undefined): number {
  if (state === undefined || state === 'shutoff' || state === 'nostate') return 0;
  return state === 'paused' ? 1 : 2;
}
