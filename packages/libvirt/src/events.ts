import { onAbort } from './abort.js';
import { DomainEventId } from './constants/event.js';
import { Domain } from './domain.js';
import { EventIterator } from './event-iterator.js';
import type { Caller, Hook, Link } from './link.js';
import { domainEvents, eventProcedures } from './protocol/event.js';
import type { DomainRef } from './protocol/object.js';
import type { EventProcedure } from './protocol/procedure.js';

/**
 * What each kind of event says. `domain.id` is as of the event. Numbers are members of the enumerations named.
 * @see https://libvirt.org/html/libvirt-libvirt-domain.html#virDomainEventID
 */
export interface DomainEventMap {
  /** `event`: `DomainEventType`; `detail`: `DomainEventStartedDetail` and its kin. */
  readonly lifecycle: { readonly event: number; readonly detail: number };
  /** The guest was reset or restarted itself; one restart may send several. */
  readonly reboot: object;
  /** The guest has set its clock. Seconds that it now is ahead of UTC. */
  readonly rtcChange: { readonly utcOffsetSeconds: number };
  /** `action`: `DomainEventWatchdogAction`. */
  readonly watchdog: { readonly action: number };
  /** A disk was dropped at start. `reason`: `DomainEventDiskChangeReason`. */
  readonly diskChange: {
    readonly oldSourcePath: string | null;
    readonly newSourcePath: string | null;
    readonly deviceAlias: string;
    readonly reason: number;
  };
  /** `reason`: `DomainEventTrayChangeReason`; a change of medium sends both. */
  readonly trayChange: { readonly deviceAlias: string; readonly reason: number };
  /** New memory size in KiB. */
  readonly balloonChange: { readonly actualKiB: number };
  /** `type`: `DomainBlockJobType`; `status`: `DomainBlockJobStatus`; `target`: `vda`. */
  readonly blockJob: { readonly target: string; readonly type: number; readonly status: number };
  /** `state`: `DomainEventAgentLifecycleState`; `reason`: `DomainEventAgentLifecycleReason`. */
  readonly agentLifecycle: { readonly state: number; readonly reason: number };
  /** `deviceAlias`: the name that libvirt gave it, as in `<alias name>`. */
  readonly deviceAdded: { readonly deviceAlias: string };
  readonly deviceRemoved: { readonly deviceAlias: string };
  /** `type`: `DomainMetadataType`; `nsUri` for ELEMENT. */
  readonly metadataChange: { readonly type: number; readonly nsUri: string | null };
}

/** The kinds of event, `lifecycle` to `metadataChange`. */
export type DomainEventKind = keyof DomainEventMap;

/** One event: its kind, the domain that it is about, and what {@link DomainEventMap} lists for the kind. */
export type DomainEvent<K extends DomainEventKind = DomainEventKind> = {
  readonly [Kind in K]: { readonly kind: Kind; readonly domain: Domain } & DomainEventMap[Kind];
}[K];

/** What {@link DomainEvents.on} calls; what it throws is an uncaught exception. */
export type DomainEventListener<K extends DomainEventKind> = (event: DomainEvent<K>) => void;

/** A listener that was added. */
export interface Subscription {
  /**
   * Settles when libvirtd has agreed to send these events: what happens later is seen. Rejects when it refused (the listener
   * is then gone) or when the hypervisor is closed. Nobody has to await it.
   */
  readonly ready: Promise<void>;
  remove(): void;
}

/** Events as an async iterator. Leave the loop, call `return()` or abort the signal to stop it. */
export interface DomainEventIterator<K extends DomainEventKind> extends AsyncIterableIterator<
  DomainEvent<K>,
  undefined
> {
  /** As {@link Subscription.ready}, for all its kinds. */
  readonly ready: Promise<void>;
}

/** Limits of {@link DomainEvents.iterate}. */
export interface IterateOptions {
  /** Ends the iteration: `next()` rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** An iterator that fell this far behind is broken off: its consumer would read the past while memory grows. */
const MAX_QUEUED_EVENTS = 10_000;

/** Every message names the callback that asked for it and the domain; the rest is the event. */
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

/** One callback in libvirtd, shared by all listeners of a kind. */
interface Registration {
  /** Asks for it on every connection. */
  readonly hook: Hook;
  readonly demand: Demand;
}

interface Demand {
  listeners: number;
  /** The callback on the latest connection; null while libvirtd is being asked for it. */
  callback: { readonly connection: Caller; readonly id: number } | null;
}

/**
 * The events of all domains of a host. The first listener of a kind makes libvirtd send it, the last one that goes stops it;
 * registrations are made again after every reconnect. Events during a loss of connection are not seen: read everything
 * again when the hypervisor's state becomes `connected`.
 */
export class DomainEvents {
  readonly #link: Link;
  readonly #registrations = new Map<DomainEventKind, Registration>();
  /** The connection that callbacks were last made on. */
  #connection: Caller | undefined;
  /** Callbacks of that connection that nobody wants any more: their last messages must not reach a new listener. */
  readonly #retired = new Set<number>();
  /** Kinds whose callback libvirtd is being asked to give back. */
  readonly #leaving = new Map<DomainEventKind, Promise<void>>();

  constructor(link: Link) {
    this.#link = link;
  }

  /** Calls `listener` with every event of the kind, in libvirtd's order. */
  on<K extends DomainEventKind>(kind: K, listener: DomainEventListener<K>): Subscription {
    const registration = this.#register(kind);
    const stopListening = this.#listen(kind, listener);
    let removed = false;
    return {
      ready: registration.hook.ready,
      remove: () => {
        if (removed) return;
        removed = true;
        stopListening();
        this.#release(kind, registration);
      },
    };
  }

  /**
   * Resolves when libvirtd has answered for every callback that was given back. A libvirtd 9.0 that is still at it when the
   * connection ends reads what it has just freed, and dies (seen: a segmentation fault in its event deregistration).
   */
  async settled(): Promise<void> {
    await Promise.all(this.#leaving.values());
  }

  /** Whether no callback is being given back. */
  get isSettled(): boolean {
    return this.#leaving.size === 0;
  }

  /**
   * Events of one or several kinds, in libvirtd's order, as an async iterator that collects from now on. It ends when the
   * hypervisor is closed, and rejects when libvirtd refuses or when the consumer is 10,000 events behind.
   */
  iterate<K extends DomainEventKind>(kinds: K | readonly K[], { signal }: IterateOptions = {}): DomainEventIterator<K> {
    const list: readonly K[] = typeof kinds === 'string' ? [kinds] : kinds;
    const iterator = new EventIterator<DomainEvent<K>>(MAX_QUEUED_EVENTS, () => {
      removeAbort();
      stopWatching();
      for (const subscription of subscriptions) subscription.remove();
    });
    const giveUp = (): void => iterator.fail(signal?.reason);
    const removeAbort = onAbort(signal, giveUp);
    const stopWatching = this.#link.onStateChange((state) => {
      if (state === 'closed') iterator.end();
    });
    const subscriptions = list.map((kind) => this.on(kind, (event) => iterator.push(event)));
    const ready = Promise.all(subscriptions.map((subscription) => subscription.ready)).then(() => undefined);
    ready.catch((error: unknown) => {
      if (this.#link.state === 'closed') iterator.end();
      else iterator.fail(error);
    });
    if (signal?.aborted === true) giveUp();
    return Object.assign(iterator, { ready });
  }

  #listen<K extends DomainEventKind>(kind: K, listener: DomainEventListener<K>): () => void {
    const [, message] = sources[kind];
    return this.#link.onEvent(message, ({ callbackId, domain, ...members }) => {
      if (this.#retired.has(callbackId)) return;
      // The compiler can not see through a mapped type of a type parameter; `sources` has checked the members of each kind.
      listener({ ...members, kind, domain: new Domain(this.#link, domain) } as unknown as DomainEvent<K>);
    });
  }

  #register(kind: DomainEventKind): Registration {
    const existing = this.#registrations.get(kind);
    if (existing !== undefined) {
      existing.demand.listeners += 1;
      return existing;
    }
    const demand: Demand = { listeners: 1, callback: null };
    const hook = this.#link.onConnected(async (connection) => {
      demand.callback = null;
      if (connection !== this.#connection) {
        this.#connection = connection;
        this.#retired.clear();
      }
      // libvirtd works on several calls of a client at once: the registration must not overtake the return of the last one.
      await this.#leaving.get(kind);
      const [eventId] = sources[kind];
      const id = await connection.call(eventProcedures.callbackRegisterAny, { eventId, domain: null });
      demand.callback = { connection, id };
      if (demand.listeners === 0) this.#drop(kind, demand);
    });
    const registration: Registration = { hook, demand };
    this.#registrations.set(kind, registration);
    // A refusal removes the hook; the next listener must ask again. Who wants to know awaits `ready` himself.
    hook.ready.catch(() => {
      if (this.#registrations.get(kind) === registration) this.#registrations.delete(kind);
    });
    return registration;
  }

  #release(kind: DomainEventKind, { demand }: Registration): void {
    demand.listeners -= 1;
    // While libvirtd is being asked, the registration stays for a listener that may come yet; the hook drops it otherwise.
    if (demand.listeners === 0 && demand.callback !== null) this.#drop(kind, demand);
  }

  #drop(kind: DomainEventKind, demand: Demand): void {
    const registration = this.#registrations.get(kind);
    if (registration?.demand !== demand) return;
    this.#registrations.delete(kind);
    registration.hook.remove();
    const { callback } = demand;
    if (callback === null || callback.connection !== this.#connection) return;
    this.#retired.add(callback.id);
    // The end of the connection gives back all that was registered on it.
    if (this.#link.state === 'closed') return;
    const leaving = callback.connection
      .call(eventProcedures.callbackDeregisterAny, { callbackId: callback.id })
      // If this fails, the connection is gone and the callback with it.
      .catch(() => undefined)
      .then(() => void this.#leaving.delete(kind));
    this.#leaving.set(kind, leaving);
  }
}
