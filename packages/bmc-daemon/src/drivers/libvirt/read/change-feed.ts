/** Reports libvirt's events, and changes without an event, as {@link MachineChange}s. */
import {
  DomainEventType,
  isLibvirtError,
  type DomainEvent,
  type DomainEventKind,
  type DomainEventListener,
  type Subscription,
} from '@rackless/libvirt';
import { forEachInParallel } from '@rackless/daemon/process/parallel.js';
import { isDriverError } from '../../driver-error.js';
import type { SystemRef } from '../../snapshot/system-snapshot.js';
import {
  changeOfState,
  arriving,
  stateAfter,
  type MachineChange,
  type MachineChangeKind,
  type MachineChangeListener,
} from '../../machine-change.js';
import type { Host } from '../machine/host.js';
import type { Machine } from '../machine/inventory.js';
import { PROCESS_URI } from '../machine/process-record.js';
import { LastStates } from './last-states.js';
import { describeLifecycle, type LifecycleChange } from './lifecycle-change.js';

/**
 * The feed ignores resets within this time after a reset that it reported. After each reset, SeaBIOS resets the
 * machine once or twice more, within 100 ms on an idle host. libvirt reports all these resets.
 */
const RESET_WINDOW_MS = 2_000;

/** Parallel reads of states after a new connection: to a distant host, one read after the other would take long. */
const PARALLEL_READS = 8;
/** Pause before {@link ChangeFeed.catchUp} repeats a failed comparison. */
const RETRY_MS = 5_000;

/** The reason of changes that no event reported. */
const withoutConnection = 'while there was no connection to libvirt';

/** Dependencies of {@link ChangeFeed}. */
interface ChangeFeedOptions {
  readonly host: Host;
  /**
   * Returns whether this driver is starting the machine. Such a start pauses the guest for a moment, and the
   * feed reports neither the pause nor its end.
   */
  readonly isStarting: (uuid: string) => boolean;
  /** Called for every event of a machine, before the feed reports the change. */
  readonly onEvent: (uuid: string) => void;
}

/** Reports the changes of the machines of one host. */
export class ChangeFeed {
  readonly #options: ChangeFeedOptions;
  readonly #listeners = new Set<MachineChangeListener>();
  /** The last known states, from events and from {@link catchUp}. */
  readonly #states = new LastStates();
  #retry: NodeJS.Timeout | undefined;
  /** Changes of definitions and images that libvirt reported during an edit of this daemon, by machine. */
  readonly #held = new Map<string, MachineChange[]>();
  /** When the last reset of each running machine was reported, in milliseconds of `performance.now()`. */
  readonly #resetAt = new Map<string, number>();

  constructor(options: ChangeFeedOptions) {
    this.#options = options;
    options.host.queue.onEdited((uuid) => this.#release(uuid));
  }

  /** Adds a listener. @returns the function that removes it. */
  onChange(listener: MachineChangeListener): () => void {
    const entry: MachineChangeListener = (change) => listener(change);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** Subscribes to libvirt's events and to losses of the connection. Only logs a failed subscription. */
  start(): void {
    const { host, onEvent } = this.#options;
    const { hypervisor, log } = host;
    const on = <Kind extends DomainEventKind>(kind: Kind, handle: DomainEventListener<Kind>): Subscription =>
      hypervisor.events.on(kind, (event) => {
        onEvent(event.domain.uuid);
        handle(event);
      });
    hypervisor.onStateChange((state) => {
      if (state === 'connected') return;
      clearTimeout(this.#retry);
      this.#states.expire();
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

  /**
   * Compares the machines with the last known ones, and reports the differences. Call this after a new
   * connection. Repeats a failed comparison later, as long as the connection is open.
   * @throws {DriverError} if libvirt cannot list the machines or return one of their states.
   */
  async catchUp(): Promise<void> {
    const { hypervisor } = this.#options.host;
    clearTimeout(this.#retry);
    try {
      await this.#compare();
    } catch (error) {
      if (hypervisor.state === 'connected') {
        this.#retry = setTimeout(() => void this.catchUp().catch(() => undefined), RETRY_MS).unref();
      }
      throw error;
    }
  }

  async #compare(): Promise<void> {
    const { hypervisor, inventory } = this.#options.host;
    this.#states.beginListing();
    const machines = await inventory.list();
    for (const uuid of this.#states.missingIn(new Set(machines.map((machine) => machine.uuid)))) {
      const { name = uuid } = this.#states.get(uuid) ?? {};
      this.#states.remove(uuid);
      this.#publish({ kind: 'undefined', uuid, name });
    }
    const failures: unknown[] = [];
    await forEachInParallel(machines, PARALLEL_READS, async (machine) => {
      if (failures.length > 0 && hypervisor.state !== 'connected') return;
      // After a failure, the other machines are read too. Otherwise one machine without an answer would hide
      // their changes.
      await this.#readState(machine).catch((error: unknown) => failures.push(error));
    });
    if (failures.length > 0) throw failures[0];
    this.#states.complete();
  }

  /**
   * Reads the state of a machine, unless an event reported it, and reports the difference to the last known
   * state. Reports a machine without a known state as defined, but only after one complete comparison.
   */
  async #readState(machine: Machine): Promise<void> {
    const { uuid, name } = machine;
    if (!this.#states.mustRead(uuid)) return;
    const state = await this.#options.host.inventory.state(machine).catch((error: unknown) => {
      if (isDriverError(error, 'notFound')) return null;
      throw error;
    });
    // Ignores a machine that was removed meanwhile. Ignores the result if an event arrived meanwhile, because
    // the event is newer.
    if (state === null || !this.#states.mustRead(uuid)) return;
    const before = this.#states.get(uuid)?.state;
    this.#states.set(uuid, { name, state });
    if (before === undefined) {
      if (this.#states.isComplete) this.#publish({ kind: 'defined', uuid, name });
      return;
    }
    const kind = changeOfState(before, state);
    if (kind !== undefined) this.#publish({ kind, uuid, name, reason: withoutConnection });
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
    const states = this.#states;
    // A running machine that loses its definition exists until it stops, so the feed reports a change, not a
    // removal.
    const staysOn = described.kind === 'undefined' && states.isOn(uuid);
    const change = staysOn ? { kind: 'changed' as const } : described;
    // A transient machine begins to exist with its start. libvirt reports only the start, so the feed adds
    // `defined`.
    const isNew = states.isComplete && !states.has(uuid) && ['started', 'resumed', 'paused'].includes(change.kind);
    const missed = change.reason === arriving ? undefined : states.missedBefore(uuid, change.kind);
    if (change.kind === 'undefined') states.noteRemoval(uuid);
    else states.note(uuid, name, stateAfter[change.kind]);
    if (missed !== undefined) this.#publishChange(domain, { kind: missed, reason: withoutConnection });
    if (isNew) this.#publishChange(domain, { kind: 'defined' });
    if ((change.kind === 'paused' || change.kind === 'resumed') && this.#options.isStarting(uuid)) return;
    this.#publishChange(domain, change);
    // `staysOn` may come from a state before a loss of the connection. If the machine is off now, it does not
    // exist anymore.
    if (event === DomainEventType.STOPPED || staysOn) void this.#publishEnd(domain);
  }

  /**
   * Reports the removal of a machine that libvirt does not know anymore. libvirt has no event for the removal
   * of a transient machine after its stop.
   */
  async #publishEnd(domain: SystemRef): Promise<void> {
    const { hypervisor, timeoutMs, log } = this.#options.host;
    try {
      await hypervisor.domainLookupByUuid(domain.uuid, { timeoutMs });
    } catch (error) {
      if (!isLibvirtError(error, 'NO_DOMAIN')) log.debug('looking up a machine after its stop failed', { error });
      // If the machine is already unknown, its definition was removed meanwhile, and this was
      // reported.
      else if (this.#states.remove(domain.uuid)) this.#publishChange(domain, { kind: 'undefined' });
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
   * Delays a change until the end of an edit that may have caused it. libvirt does not say who made a change.
   * The request that made the edit can then report its change first. Stores one change of each kind.
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
