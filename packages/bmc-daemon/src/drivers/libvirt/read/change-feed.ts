/** Translates libvirt's events into {@link MachineChange}s. */
import {
  DomainEventDefinedDetail,
  DomainEventShutdownDetail,
  DomainEventStartedDetail,
  DomainEventStoppedDetail,
  DomainEventSuspendedDetail,
  DomainEventType,
  DomainEventUndefinedDetail,
  isLibvirtError,
  type DomainEvent,
  type DomainEventKind,
  type DomainEventListener,
  type Subscription,
} from '@rackless/libvirt';
import { DriverError } from '../../driver-error.js';
import type { DomainState, SystemRef } from '../../snapshot/system-snapshot.js';
import {
  changeOfState,
  arriving,
  migrated,
  migrating,
  stateAfter,
  type MachineChange,
  type MachineChangeKind,
  type MachineChangeListener,
} from '../../machine-change.js';
import type { Host } from '../machine/host.js';
import { PROCESS_URI } from '../machine/process-record.js';

/** The change that a lifecycle event reports. */
interface LifecycleChange {
  readonly kind: MachineChangeKind;
  readonly reason?: string;
}

/**
 * Machines by UUID with their last state. After a new connection, the feed compares the machines
 * with this list to find changes from the time without a connection.
 */
type LastStates = Map<string, { readonly name: string; readonly state: DomainState }>;

/**
 * Resets of a machine within this time are one change. After each reset, SeaBIOS resets the machine
 * two more times, usually within 100 ms. libvirt reports all three resets.
 */
const RESET_WINDOW_MS = 2_000;

/** Dependencies of {@link ChangeFeed}. */
interface ChangeFeedOptions {
  readonly host: Host;
  /**
   * Returns whether this driver is starting the machine. Such a start pauses the guest for a
   * moment, and the feed does not report this pause.
   */
  readonly isStarting: (uuid: string) => boolean;
  /** Called for every event of a machine, before its change is reported. */
  readonly onEvent: (uuid: string) => void;
}

/** Reports the changes of the machines of one host. */
export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #listeners = new Set<MachineChangeListener>();
  /** State after the last {@link catchUp} or event; undefined before the first. */
  #known: LastStates | undefined;
  /** Machines with an event during {@link catchUp}. Their state in the listing may be older than the event. */
  readonly #changedMeanwhile = new Set<string>();
  /** Changes of definitions and images that came during an edit, by machine. */
  readonly #held = new Map<string, MachineChange[]>();
  /** When the last reset of each running machine was reported, in milliseconds of `performance.now()`. */
  readonly #resetAt = new Map<string, number>();

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    options.host.queue.onEdited((uuid) => this.#release(uuid));
  }

  /** Adds a listener. @returns the function that removes it. */
  onChange(listener: MachineChangeListener): () => void {
    const own: MachineChangeListener = (change) => listener(change);
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  /** Subscribes to the events. */
  start(): void {
    const { host, onEvent } = this.#options;
    const { hypervisor, log } = host;
    const on = <Kind extends DomainEventKind>(kind: Kind, handle: DomainEventListener<Kind>): Subscription =>
      hypervisor.events.on(kind, (event) => {
        onEvent(event.domain.uuid);
        handle(event);
      });
    const subscriptions = [
      on('lifecycle', (event) => this.#onLifecycle(event)),
      on('reboot', ({ domain }) => this.#onReset(domain)),
      on('trayChange', ({ domain }) => this.#publishChange(domain, { kind: 'media' })),
      on('diskChange', ({ domain }) => this.#publishChange(domain, { kind: 'media' })),
      on('deviceAdded', ({ domain }) => this.#publishChange(domain, { kind: 'changed' })),
      on('deviceRemoved', ({ domain }) => this.#publishChange(domain, { kind: 'changed' })),
      on('metadataChange', ({ domain, nsUri }) => {
        // Clients cannot see the record of a QEMU process, so its change is no event.
        if (nsUri !== PROCESS_URI) this.#publishChange(domain, { kind: 'changed' });
      }),
    ];
    for (const { ready } of subscriptions) {
      ready.catch((error: unknown) => log.debug('registering for events of libvirt failed', { error }));
    }
  }

  /** Compares the machines after a new connection with the last known ones, and reports the differences. */
  async catchUp(): Promise<void> {
    const { inventory } = this.#options.host;
    this.#changedMeanwhile.clear();
    const seen: LastStates = new Map();
    for (const machine of await inventory.list()) {
      const state = await inventory.state(machine).catch((error: unknown) => {
        if (error instanceof DriverError && error.kind === 'notFound') return null;
        throw error;
      });
      if (state !== null) seen.set(machine.uuid, { name: machine.name, state });
    }
    const before = this.#known;
    for (const uuid of this.#changedMeanwhile) {
      const state = before?.get(uuid);
      if (state !== undefined) seen.set(uuid, state);
      // The machine was removed after the listing, and the event of its removal is already
      // reported.
      else if (before !== undefined) seen.delete(uuid);
    }
    this.#known = seen;
    if (before === undefined) return;
    for (const change of differences(before, seen)) if (!this.#changedMeanwhile.has(change.uuid)) this.#publish(change);
  }

  /** Reports a change by this driver for which libvirt has no event. */
  publishOwn(machine: SystemRef, kind: MachineChangeKind): void {
    this.#publishChange(machine, { kind });
  }

  #onReset(domain: SystemRef): void {
    const now = performance.now();
    if (now - (this.#resetAt.get(domain.uuid) ?? -Infinity) < RESET_WINDOW_MS) return;
    this.#resetAt.set(domain.uuid, now);
    this.#publishChange(domain, { kind: 'rebooted' });
  }

  #onLifecycle({ domain, event, detail }: DomainEvent<'lifecycle'>): void {
    const described = describeLifecycle(event, detail);
    if (described === undefined) return;
    const { uuid, name } = domain;
    if (event === DomainEventType.STOPPED) this.#resetAt.delete(uuid);
    const change = described.kind === 'undefined' && this.#isOn(uuid) ? { kind: 'changed' as const } : described;
    this.#changedMeanwhile.add(uuid);
    // A transient machine begins to exist with its start, and libvirt reports only the start.
    const isNew = this.#known?.has(uuid) === false && ['started', 'resumed', 'paused'].includes(change.kind);
    const state = stateAfter[change.kind] ?? this.#known?.get(uuid)?.state ?? 'shutoff';
    if (change.kind === 'undefined') this.#known?.delete(uuid);
    else this.#known?.set(uuid, { name, state });
    if (isNew) this.#publishChange(domain, { kind: 'defined' });
    if ((change.kind === 'paused' || change.kind === 'resumed') && this.#options.isStarting(uuid)) return;
    this.#publishChange(domain, change);
    if (event === DomainEventType.STOPPED) void this.#publishEnd(domain);
  }

  /** Returns whether a machine runs. Without a definition, a machine exists until it stops. */
  #isOn(uuid: string): boolean {
    const state = this.#known?.get(uuid)?.state;
    return state !== undefined && state !== 'shutoff' && state !== 'crashed';
  }

  /**
   * Reports the removal of a transient machine after its stop, because libvirt has no event for
   * this.
   */
  async #publishEnd(domain: SystemRef): Promise<void> {
    const { hypervisor, timeoutMs, log } = this.#options.host;
    try {
      await hypervisor.domainLookupByUuid(domain.uuid, { timeoutMs });
    } catch (error) {
      if (!isLibvirtError(error, 'NO_DOMAIN')) log.debug('looking up a machine after its stop failed', { error });
      // If the machine is already unknown, its definition was removed meanwhile, and this was
      // reported.
      else if (this.#known?.delete(domain.uuid) === true) this.#publishChange(domain, { kind: 'undefined' });
    }
  }

  #publishChange({ uuid, name }: SystemRef, change: LifecycleChange): void {
    const { kind } = change;
    if (kind === 'undefined') this.#held.delete(uuid);
    const mayBeOwn = (kind === 'changed' || kind === 'media') && this.#options.host.queue.isEditing(uuid);
    if (mayBeOwn) this.#hold({ ...change, uuid, name });
    else this.#publish({ ...change, uuid, name });
  }

  /**
   * Delays a change until the end of an edit that may have caused it, because libvirt does not say
   * who made a change. The client's request can then report the change first.
   */
  #hold(change: MachineChange): void {
    const held = this.#held.get(change.uuid) ?? [];
    if (held.every(({ kind }) => kind !== change.kind)) this.#held.set(change.uuid, [...held, change]);
  }

  #release(uuid: string): void {
    const held = this.#held.get(uuid) ?? [];
    this.#held.delete(uuid);
    for (const change of held) this.#publish(change);
  }

  #publish(change: MachineChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** Returns the changes between two lists of machines. */
function differences(before: LastStates, after: LastStates): readonly MachineChange[] {
  const gone = [...before].flatMap(([uuid, { name }]): MachineChange[] =>
    after.has(uuid) ? [] : [{ kind: 'undefined', uuid, name }],
  );
  const others = [...after].flatMap(([uuid, { name, state }]): MachineChange[] => {
    const known = before.get(uuid);
    if (known === undefined) return [{ kind: 'defined', uuid, name }];
    const kind = changeOfState(known.state, state);
    return kind === undefined ? [] : [{ kind, uuid, name, reason: 'while there was no connection to libvirt' }];
  });
  return [...gone, ...others];
}

/** Translates a lifecycle event. @returns undefined if clients need no event for it. */
function describeLifecycle(event: number, detail: number): LifecycleChange | undefined {
  switch (event) {
    case DomainEventType.DEFINED:
      return { kind: detail === DomainEventDefinedDetail.ADDED ? 'defined' : 'changed' };
    case DomainEventType.UNDEFINED:
      // A renamed machine still exists. The event that follows with the new name reports the
      // change.
      return detail === DomainEventUndefinedDetail.RENAMED ? undefined : { kind: 'undefined' };
    case DomainEventType.STARTED:
      // A guest that wakes up was not off.
      if (detail === DomainEventStartedDetail.WAKEUP) return { kind: 'resumed', reason: 'woken up' };
      return withReason('started', startedReasons[detail]);
    case DomainEventType.SUSPENDED:
      return withReason('paused', suspendedReasons[detail]);
    case DomainEventType.RESUMED:
      return { kind: 'resumed' };
    case DomainEventType.STOPPED:
      return detail === DomainEventStoppedDetail.CRASHED
        ? { kind: 'crashed' }
        : withReason('stopped', stoppedReasons[detail]);
    case DomainEventType.SHUTDOWN:
      return withReason('shuttingDown', shutdownReasons[detail]);
    case DomainEventType.PMSUSPENDED:
      return { kind: 'suspended' };
    case DomainEventType.CRASHED:
      return { kind: 'crashed', reason: 'the guest panicked' };
    default:
      return undefined;
  }
}

function withReason(kind: MachineChangeKind, reason: string | undefined): LifecycleChange {
  return reason === undefined ? { kind } : { kind, reason };
}

type Reasons = Readonly<Record<number, string>>;

const startedReasons: Reasons = {
  [DomainEventStartedDetail.MIGRATED]: arriving,
  [DomainEventStartedDetail.RESTORED]: 'restored from a saved state',
  [DomainEventStartedDetail.FROM_SNAPSHOT]: 'restored from a snapshot',
};

const suspendedReasons: Reasons = {
  [DomainEventSuspendedDetail.MIGRATED]: migrating,
  [DomainEventSuspendedDetail.IOERROR]: 'a disk failed',
  [DomainEventSuspendedDetail.WATCHDOG]: 'its watchdog fired',
};

const stoppedReasons: Reasons = {
  [DomainEventStoppedDetail.SHUTDOWN]: 'shut down by its guest',
  [DomainEventStoppedDetail.DESTROYED]: 'destroyed',
  [DomainEventStoppedDetail.MIGRATED]: migrated,
  [DomainEventStoppedDetail.SAVED]: 'saved',
  [DomainEventStoppedDetail.FAILED]: 'its start or its hypervisor failed',
  [DomainEventStoppedDetail.FROM_SNAPSHOT]: 'replaced by a snapshot',
};

const shutdownReasons: Reasons = {
  [DomainEventShutdownDetail.GUEST]: 'requested by its guest',
  [DomainEventShutdownDetail.HOST]: 'requested by the host',
};
