/**
 * Merges the changes of all hosts. A migration is reported as one change, `moved`, without the
 * `stopped`, `undefined` and `defined` of the two hosts. Events of two hosts arrive in any order.
 * The end of a machine is the event that it was removed or has migrated away. If only this host has the
 * machine, its end is held for {@link MOVE_WAIT_MS}, and reported only if no other host has the machine then.
 */
import { arriving, migrated, migrating, type MachineChange, type MachineChangeListener } from '../machine-change.js';
import type { DomainState } from '../snapshot/system-snapshot.js';
import type { HostMember } from './host-member.js';
import { MOVE_WAIT_MS, type MachineIndex } from './machine-index.js';

/** Changes of a machine that are not reported yet. */
interface HeldChanges {
  readonly member: HostMember;
  /** The state of the machine before these changes. */
  readonly before: DomainState | undefined;
  readonly changes: readonly MachineChange[];
  /** Whether these changes are held longer, until all hosts were listed. */
  readonly untilListed: boolean;
  readonly timer: NodeJS.Timeout;
}

/** Dependencies of {@link MergedChanges}. */
interface MergedChangesOptions {
  readonly index: MachineIndex;
  /** Looks for a machine on all hosts. */
  readonly look: (uuid: string) => void;
  /** Returns whether a host was never listed. */
  readonly isListIncomplete: () => boolean;
}

/** Merges the changes of several hosts. */
export class MergedChanges {
  readonly #index: MachineIndex;
  readonly #listeners = new Set<MachineChangeListener>();
  readonly #held = new Map<string, HeldChanges>();
  readonly #options: MergedChangesOptions;

  constructor(options: MergedChangesOptions) {
    this.#options = options;
    this.#index = options.index;
  }

  /** Adds a listener. @returns the function that removes it. */
  onChange(listener: MachineChangeListener): () => void {
    const entry: MachineChangeListener = (change) => listener(change);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Reports a change to all listeners. */
  publish(change: MachineChange): void {
    for (const listener of this.#listeners) listener(change);
  }

  /** Drops the held changes without reporting them. */
  close(): void {
    for (const { timer } of this.#held.values()) clearTimeout(timer);
    this.#held.clear();
  }

  /**
   * Reports the end of a machine whose host was removed from the configuration. Holds the report
   * until all hosts were listed, because the new configuration may have the same host under another
   * name and URI.
   */
  reportRemoval(member: HostMember, { uuid, name }: Pick<MachineChange, 'uuid' | 'name'>): void {
    const reason = 'its host was removed from the configuration';
    const change: MachineChange = { kind: 'undefined', uuid, name, reason };
    this.#hold(member, change, { before: member.known.stateOf(uuid), untilListed: true });
  }

  /**
   * Records a change that one host reports. Holds the end of a machine. Reports any other change to the
   * listeners, with two exceptions: parts of a migration, and changes of a copy of the machine on a host
   * that does not serve it.
   */
  handle(member: HostMember, change: MachineChange): void {
    const { uuid, kind, reason } = change;
    const former = this.#index.recordedOwner(uuid);
    const before = former?.known.stateOf(uuid);
    const others = this.#index.holders(uuid).filter((holder) => holder !== member);
    // A pause for a migration, or the resume after such a pause: the machine continues on one of the hosts.
    // The pause was not recorded, so the known state at the resume is still `running`.
    const isHandover =
      (kind === 'paused' && reason === migrating && others.length > 0) ||
      (kind === 'resumed' && member.known.stateOf(uuid) === 'running');
    // libvirt ends QEMU on the old host before it reports that the machine has left. So this shutdown is part
    // of a migration if the machine runs or arrives on another host. A copy whose state is unknown proves no migration.
    const isDeparture =
      kind === 'shuttingDown' &&
      others.some(
        ({ watch, known }) => watch.loss === null && (known.stateOf(uuid) === 'running' || known.isArriving(uuid)),
      );
    // The migration to this host may still fail. So the machine gets no state here yet, and the old host
    // serves it.
    if (kind === 'started' && reason === arriving && others.length > 0) member.known.arrive(change);
    else if (!isHandover) member.known.note(change);
    if (kind === 'stopped' && reason === migrated) {
      // The event of the new host may arrive later, so the machine counts as running there from now on.
      for (const { known } of others) if (known.stateOf(uuid) === undefined) known.note({ ...change, kind: 'resumed' });
    }
    if (this.#isEnd(member, change)) {
      this.#hold(member, change, { before, untilListed: false });
      this.#options.look(uuid);
      return;
    }
    const held = this.#held.get(uuid);
    const isBack = held?.member === member;
    // The machine is back on the host that reported its end. So it has not moved, and the held end is
    // reported now.
    if (isBack) this.#release(uuid);
    // `settle` reports a move if the machine now has another host.
    const owner = this.#index.settle(uuid, isBack ? before : (held?.before ?? before));
    const hasMoved = owner !== former && former !== undefined;
    const hasArrived = held !== undefined && !isBack && owner === member;
    if (hasMoved || hasArrived) this.#drop(uuid);
    // Changes of a copy on another host are not changes of the machine.
    if (hasMoved || hasArrived || isHandover || isDeparture || owner !== member) return;
    this.publish(change);
  }

  /** Returns whether the machine was removed or has migrated away, and no other host has it yet. */
  #isEnd(member: HostMember, { uuid, kind, reason }: MachineChange): boolean {
    const isOnlyHost = this.#index.holders(uuid).every((holder) => holder === member);
    return isOnlyHost && (kind === 'undefined' || (kind === 'stopped' && reason === migrated));
  }

  #hold(
    member: HostMember,
    change: MachineChange,
    { before, untilListed }: Pick<HeldChanges, 'before' | 'untilListed'>,
  ): void {
    const { uuid } = change;
    const earlier = this.#held.get(uuid);
    this.#drop(uuid);
    this.#held.set(uuid, {
      member,
      before: earlier === undefined ? before : earlier.before,
      changes: [...(earlier?.changes ?? []), change],
      untilListed,
      timer: this.#releaseLater(uuid),
    });
  }

  #releaseLater(uuid: string): NodeJS.Timeout {
    return setTimeout(() => this.#release(uuid), MOVE_WAIT_MS).unref();
  }

  #drop(uuid: string): void {
    clearTimeout(this.#held.get(uuid)?.timer);
    this.#held.delete(uuid);
  }

  #release(uuid: string): void {
    const held = this.#held.get(uuid);
    this.#drop(uuid);
    if (held === undefined) return;
    const owner = this.#index.owner(uuid);
    // Another host has the machine, and the index has reported the move. So the held changes are not reported.
    if (owner !== undefined && owner !== held.member) return;
    if (owner === undefined && held.untilListed && this.#options.isListIncomplete()) {
      this.#held.set(uuid, { ...held, timer: this.#releaseLater(uuid) });
      return;
    }
    if (owner === undefined) this.#index.forget(uuid);
    for (const change of held.changes) this.publish(change);
  }
}
