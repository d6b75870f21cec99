import { onAbort } from '../abort.js';
import { DomainEventId } from '../constants/event.js';
import { Domain } from './domain.js';
import { EventIterator } from './event-iterator.js';
import type { Caller, HookHandle, Link } from '../link/link.js';
import { domainEvents, eventProcedures } from '../protocol/event.js';
import type { DomainRef } from '../protocol/object.js';
import type { EventProcedure } from '../protocol/procedure.js';

/**
 * Properties of each kind of event. `domain.id` is the id at the time of the event. Numbers are
 * values of the named enumerations.
 * @see https://libvirt.org/html/libvirt-libvirt-domain.html#virDomainEventID
 */
export interface DomainEventMap {
  /** `event`: `DomainEventType`; `detail`: the enumeration of this event, such as `DomainEventStartedDetail`. */
  readonly lifecycle: { readonly event: number; readonly detail: number };
  /** The guest was reset or restarted. One restart may cause several events. */
  readonly reboot: object;
  /** The guest set its clock. The value is the difference to UTC in seconds. */
  readonly rtcChange: { readonly utcOffsetSeconds: number };
  /** The watchdog device of the guest expired. `action`: `DomainEventWatchdogAction`. */
  readonly watchdog: { readonly action: number };
  /**
   * libvirt emptied a drive, or removed a disk, when the domain started, because the source was
   * missing. `reason`: `DomainEventDiskChangeReason`.
   */
  readonly diskChange: {
    readonly oldSourcePath: string | null;
    readonly newSourcePath: string | null;
    readonly deviceAlias: string;
    readonly reason: number;
  };
  /**
   * The tray of a drive opened or closed. A change of medium causes both events. `reason`:
   * `DomainEventTrayChangeReason`.
   */
  readonly trayChange: { readonly deviceAlias: string; readonly reason: number };
  /** The memory size changed. `actualKiB`: the new size. */
  readonly balloonChange: { readonly actualKiB: number };
  /**
   * The state of a block job changed. `type`: `DomainBlockJobType`; `status`: `DomainBlockJobStatus`;
   * `target`: such as `vda`.
   */
  readonly blockJob: { readonly target: string; readonly type: number; readonly status: number };
  /**
   * The guest agent connected or disconnected. `state`: `DomainEventAgentLifecycleState`; `reason`:
   * `DomainEventAgentLifecycleReason`.
   */
  readonly agentLifecycle: { readonly state: number; readonly reason: number };
  /** A device was added. `deviceAlias`: the name in the XML element `<alias>`. */
  readonly deviceAdded: { readonly deviceAlias: string };
  /** A device was removed, for example because the guest released it. */
  readonly deviceRemoved: { readonly deviceAlias: string };
  /** The metadata changed. `type`: `DomainMetadataType`; `nsUri`: the namespace if the type is ELEMENT. */
  readonly metadataChange: { readonly type: number; readonly nsUri: string | null };
}

/** Name of a kind of event. */
export type DomainEventKind = keyof DomainEventMap;

/**
 * An event: its kind, its domain, and the properties that {@link DomainEventMap} lists for the
 * kind.
 */
export type DomainEvent<K extends DomainEventKind = DomainEventKind> = {
  readonly [Kind in K]: { readonly kind: Kind; readonly domain: Domain } & DomainEventMap[Kind];
}[K];

/** Listener of {@link DomainEvents.on}. An error that it throws becomes an uncaught exception. */
export type DomainEventListener<K extends DomainEventKind> = (event: DomainEvent<K>) => void;

/** Result of {@link DomainEvents.on}. */
export interface Subscription {
  /**
   * Resolves when libvirtd has registered the client: all later events are delivered. Rejects if
   * libvirtd refuses, if the registration times out on an open connection, or if the hypervisor is
   * closed. The listener is then removed. An ignored rejection is not reported as unhandled.
   */
  readonly ready: Promise<void>;
  /** Removes the listener. Further calls do nothing. */
  remove(): void;
}

/** Async iterator over events. To stop it, exit the loop, call `return()` or abort the signal. */
export interface DomainEventIterator<K extends DomainEventKind> extends AsyncIterableIterator<
  DomainEvent<K>,
  undefined
> {
  /** Like {@link Subscription.ready}, for all its kinds. */
  readonly ready: Promise<void>;
}

/** Options of {@link DomainEvents.iterate}. */
export interface IterateOptions {
  /** Ends the iteration when aborted: after the queued events, `next()` rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Maximum queue length of an iterator, so that a slow consumer cannot use unbounded memory. */
const MAX_QUEUED_EVENTS = 10_000;

/** Properties of every event message: the id of the registered callback, and the domain. */
interface Envelope {
  readonly callbackId: number;
  readonly domain: DomainRef;
}

type Source<K extends DomainEventKind> = readonly [id: number, message: EventProcedure<Envelope & DomainEventMap[K]>];

const sources: { readonly [K in DomainEventKind]: Source<K> } = {
  lifecycle: [DomainEventId.LIFECYCLE, domainEvents.lifecycle],
  reboot: [DomainEventId.REBOOT, domainEvents.reboot],
  rtcChange: [DomainEventId.RTC_CHANGE, domainEvents.rtcChange],
  watchdog: [DomainEventId.WATCHDOG, domainEvents.watchdog],
  diskChange: [DomainEventId.DISK_CHANGE, domainEvents.diskChange],
  trayChange: [DomainEventId.TRAY_CHANGE, domainEvents.trayChange],
  balloonChange: [DomainEventId.BALLOON_CHANGE, domainEvents.balloonChange],
  blockJob: [DomainEventId.BLOCK_JOB_2, domainEvents.blockJob],
  agentLifecycle: [DomainEventId.AGENT_LIFECYCLE, domainEvents.agentLifecycle],
  deviceAdded: [DomainEventId.DEVICE_ADDED, domainEvents.deviceAdded],
  deviceRemoved: [DomainEventId.DEVICE_REMOVED, domainEvents.deviceRemoved],
  metadataChange: [DomainEventId.METADATA_CHANGE, domainEvents.metadataChange],
};

/** The registration of a kind of events. */
interface Registration {
  /** Registers the callback on every new connection. */
  readonly hook: HookHandle;
  readonly shared: SharedCallback;
}

/** The callback in libvirtd that all listeners of a kind share. */
interface SharedCallback {
  /** Number of listeners. */
  listeners: number;
  /** The callback on the latest connection; null until libvirtd has registered it. */
  callback: { readonly connection: Caller; readonly id: number } | null;
}

/**
 * Events of all domains of a host. The client registers a kind in libvirtd when the first listener is
 * added, and deregisters it when the last one is removed. After a reconnect the client registers again. Events during a
 * connection loss are lost: read everything again when the state of the hypervisor changes to
 * `connected`.
 */
export class DomainEvents {
  readonly #link: Link;
  readonly #registrations = new Map<DomainEventKind, Registration>();
  /** The connection of the latest registrations. */
  #connection: Caller | undefined;
  /**
   * Deregistered callbacks of `#connection`. Their last messages must not reach a new listener.
   */
  readonly #retired = new Set<number>();
  /** Kinds with a running deregistration. */
  readonly #deregistering = new Map<DomainEventKind, Promise<void>>();

  constructor(link: Link) {
    this.#link = link;
  }

  /** Calls `listener` with every event of the kind, in the order of libvirtd. */
  on<K extends DomainEventKind>(kind: K, listener: DomainEventListener<K>): Subscription {
    const registration = this.#register(kind);
    const stopListening = this.#listen(kind, listener);
    let removed = false;
    const remove = (): void => {
      if (removed) return;
      removed = true;
      stopListening();
      this.#release(kind, registration);
    };
    const { ready } = registration.hook;
    // Without this line, a rejected listener would get the events of a later registration of the kind.
    ready.catch(remove);
    return { ready, remove };
  }

  /**
   * Resolves when all running deregistrations have ended, also those that fail. Await this before a
   * close: if the connection closes during a deregistration, libvirtd 9.0 may crash (use after free).
   */
  async settled(): Promise<void> {
    await Promise.all(this.#deregistering.values());
  }

  /** True if no deregistration is running. */
  get isSettled(): boolean {
    return this.#deregistering.size === 0;
  }

  /**
   * Returns an async iterator over events of one or more kinds, in the order of libvirtd. The
   * iterator queues events from now on. It ends when the hypervisor is closed. `next()` rejects if
   * libvirtd refuses a registration or does not answer it, if the consumer is more than 10,000 events
   * behind, or if `signal` aborts.
   */
  iterate<K extends DomainEventKind>(kinds: K | readonly K[], { signal }: IterateOptions = {}): DomainEventIterator<K> {
    const list: readonly K[] = typeof kinds === 'string' ? [kinds] : kinds;
    const iterator = new EventIterator<DomainEvent<K>>(MAX_QUEUED_EVENTS, () => {
      removeAbort();
      stopWatching();
      for (const subscription of subscriptions) subscription.remove();
    });
    const abort = (): void => iterator.fail(signal?.reason);
    const removeAbort = onAbort(signal, abort);
    const stopWatching = this.#link.onStateChange((state) => {
      if (state === 'closed') iterator.end();
    });
    const subscriptions = list.map((kind) => this.on(kind, (event) => iterator.push(event)));
    const ready = Promise.all(subscriptions.map((subscription) => subscription.ready)).then(() => undefined);
    ready.catch((error: unknown) => {
      if (this.#link.state === 'closed') iterator.end();
      else iterator.fail(error);
    });
    if (signal?.aborted === true) abort();
    return Object.assign(iterator, { ready });
  }

  #listen<K extends DomainEventKind>(kind: K, listener: DomainEventListener<K>): () => void {
    const [, message] = sources[kind];
    return this.#link.onEvent(message, ({ callbackId, domain, ...members }) => {
      if (this.#retired.has(callbackId)) return;
      // The compiler cannot resolve a mapped type of a type parameter. `sources` checks the
      // properties of each kind.
      listener({ ...members, kind, domain: new Domain(this.#link, domain) } as unknown as DomainEvent<K>);
    });
  }

  #register(kind: DomainEventKind): Registration {
    const existing = this.#registrations.get(kind);
    if (existing !== undefined) {
      existing.shared.listeners += 1;
      return existing;
    }
    const shared: SharedCallback = { listeners: 1, callback: null };
    const hook = this.#link.onConnected(async (connection) => {
      shared.callback = null;
      if (connection !== this.#connection) {
        this.#connection = connection;
        this.#retired.clear();
      }
      // libvirtd runs several calls of a client in parallel. The new registration must not overtake
      // the deregistration.
      await this.#deregistering.get(kind);
      const [eventId] = sources[kind];
      const id = await connection.call(eventProcedures.callbackRegisterAny, { eventId, domain: null });
      shared.callback = { connection, id };
      if (shared.listeners === 0) this.#drop(kind, shared);
    });
    const registration: Registration = { hook, shared };
    this.#registrations.set(kind, registration);
    // If libvirtd refuses, the hook is removed and the next listener must register again. Callers
    // see the error in `ready`.
    hook.ready.catch(() => {
      if (this.#registrations.get(kind) === registration) this.#registrations.delete(kind);
    });
    return registration;
  }

  #release(kind: DomainEventKind, { shared }: Registration): void {
    shared.listeners -= 1;
    // While libvirtd registers the callback, a new listener may still come. If none comes, the hook
    // drops the callback after the registration.
    if (shared.listeners === 0 && shared.callback !== null) this.#drop(kind, shared);
  }

  #drop(kind: DomainEventKind, shared: SharedCallback): void {
    const registration = this.#registrations.get(kind);
    if (registration?.shared !== shared) return;
    this.#registrations.delete(kind);
    registration.hook.remove();
    const { callback } = shared;
    if (callback === null || callback.connection !== this.#connection) return;
    this.#retired.add(callback.id);
    // When a connection ends, libvirtd removes all its registrations.
    if (this.#link.state === 'closed') return;
    const deregistering = callback.connection
      .call(eventProcedures.callbackDeregisterAny, { callbackId: callback.id })
      // The deregistration fails if the connection ended; the callback ended with it. The deregistration also fails
      // after a timeout. If libvirtd still has the callback then, `#retired` hides its events.
      .catch(() => undefined)
      .then(() => void this.#deregistering.delete(kind));
    this.#deregistering.set(kind, deregistering);
  }
}
