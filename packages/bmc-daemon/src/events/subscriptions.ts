/**
 * Manages the subscribers of events: listeners, which are stored across restarts, and open streams.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log.js';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import { RedfishError, refuse } from '../redfish/messages/errors.js';
import { message, withDetail } from '../redfish/messages/messages.js';
import { resourceEventRegistry } from '../redfish/messages/resource-event-registry.js';
import type { StreamSource } from '../redfish/stream.js';
import type { StateFile } from '../state-file.js';
import type { ReportMessage, ReportSource } from '../offers/report-source.js';
import type { Actor, EventBus } from './event-bus.js';
import type { EventFeed } from './event-feed.js';
import { createFilter, eventFormats, type EventFormat } from './event-filter.js';
import type { EventPost } from './event-post.js';
import type { FeedEvent } from './event-record.js';
import { EventStream } from './event-stream.js';
import { EventQueue, ReportQueue, type PayloadQueue } from './payload-queue.js';
import { eventsOf, reportsOf } from './machine-filter.js';
import { deliveryRetryPolicies, PushDelivery } from './push-delivery.js';
import { hasPlace, type Asker, type Place } from './subscription-shares.js';
import { everyEvent, type StreamWants } from './stream-filter.js';

const strings = z.array(z.string());

/** A stored listener. */
const pushRecord = z.object({
  id: z.string(),
  context: z.string().nullable(),
  /** As the client sent it; a password in it is never shown. */
  destination: z.string(),
  httpHeaders: z.record(z.string(), z.string()),
  verifyCertificate: z.boolean(),
  policy: z.enum(deliveryRetryPolicies),
  suspended: z.boolean(),
  /** The user who created it; null without accounts. */
  owner: z.string().nullable(),
  /** Files older than metric reports lack this property and the next one. */
  format: z.enum(eventFormats).default('Event'),
  /** Canonical URIs; empty: reports of all definitions. */
  reportDefinitions: strings.default([]),
  /** UUID of the only machine whose events it receives; null: all. Old files lack it. */
  machine: z.string().nullable().default(null),
  wanted: z.object({
    registryPrefixes: strings,
    messageIds: strings,
    excludeRegistryPrefixes: strings,
    excludeMessageIds: strings,
    resourceTypes: strings,
    originResources: strings,
    subordinateResources: z.boolean(),
    severities: z.array(z.enum(['OK', 'Warning', 'Critical'])),
    eventTypes: strings,
  }),
});
export type PushRecord = z.infer<typeof pushRecord>;

/** The content of the state file. */
export const subscriptionsState = z.object({
  retryAttempts: z.number().int(),
  retryIntervalSeconds: z.number().int(),
  subscriptions: z.array(pushRecord),
});
export type SubscriptionsState = z.infer<typeof subscriptionsState>;

export const noSubscriptions: SubscriptionsState = { retryAttempts: 3, retryIntervalSeconds: 30, subscriptions: [] };

export interface PushSubscription {
  readonly kind: 'push';
  readonly record: PushRecord;
  /** Whether the last payload could not be delivered. */
  readonly failing: boolean;
}

export interface StreamSubscription {
  readonly kind: 'stream';
  readonly id: string;
  /** `redfish-sse://192.0.2.1:40112`. */
  readonly destination: string;
  /** The client's address, without its port. */
  readonly address: string;
  readonly owner: string | null;
  readonly format: EventFormat;
  /** As in a stored listener. */
  readonly machine: string | null;
}

/** A subscription; immutable, a change creates a new object. */
export type Subscription = PushSubscription | StreamSubscription;

/** The properties of a listener that a client may change. */
export type PushChange = Partial<Pick<PushRecord, 'context' | 'httpHeaders' | 'verifyCertificate' | 'policy'>>;

/** A client's request for an event stream. */
export interface EventStreamRequest {
  /** Null: every event. */
  readonly wants: StreamWants | null;
  /** UUID of the only machine whose events it receives. Default: all machines. */
  readonly machine?: string;
  /** Header Last-Event-ID. */
  readonly lastEventId: string | undefined;
  readonly actor: Actor;
  /** @see Asker.isAdministrator */
  readonly isAdministrator: boolean;
  /** `192.0.2.1:40112`. */
  readonly peer: string;
  /** @see EventStreamOptions.isWelcome */
  readonly isWelcome: () => boolean;
}

export interface RetryChange {
  readonly attempts?: number;
  readonly intervalSeconds?: number;
}

/** A new listener. `machine` is null by default: all machines. */
export type NewSubscription = Omit<PushRecord, 'id' | 'suspended' | 'machine'> & Partial<Pick<PushRecord, 'machine'>>;

export interface Subscriptions {
  /**
   * Lists subscriptions in the order of creation, listeners first; the same array until something
   * changes.
   */
  list(): readonly Subscription[];
  find(id: string): Subscription | undefined;
  /**
   * @param isAdministrator see {@link Asker}.
   * @throws {RedfishError} EventSubscriptionLimitExceeded, PayloadTooLarge. @throws {StateFileError}
   */
  create(record: NewSubscription, requester: { readonly isAdministrator: boolean }): PushSubscription;
  /** @throws {RedfishError} PayloadTooLarge. @throws {StateFileError} */
  change(id: string, change: PushChange): void;
  suspend(id: string): void;
  resume(id: string): void;
  /**
   * Removes a subscription; closes a stream.
   * @returns false if it does not exist.
   */
  remove(id: string): boolean;
  /** @throws {RedfishError} EventSubscriptionLimitExceeded. */
  openStream(request: EventStreamRequest): StreamSource;
  readonly retries: { readonly attempts: number; readonly intervalSeconds: number };
  setRetries(change: RetryChange): void;
  /** Closes all streams, which never end by themselves. */
  closeStreams(): void;
  /** Closes the streams and stops all deliveries. */
  close(): void;
}

export interface SubscriptionsOptions {
  readonly feed: EventFeed;
  readonly bus: EventBus;
  /** The source of metric reports; null without telemetry. */
  readonly reports: ReportSource | null;
  readonly state: StateFile<SubscriptionsState>;
  readonly post: EventPost;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** The most listeners and streams in total; {@link hasPlace} divides them among the clients. */
  readonly limit: number;
  /** The most events that wait for one subscriber. */
  readonly backlog: number;
  readonly keepAliveMs: number;
}

interface Push {
  subscription: PushSubscription;
  readonly delivery: PushDelivery;
  readonly leave: () => void;
}

interface Stream {
  readonly subscription: StreamSubscription;
  readonly close: () => void;
}

export const subscriptionUri = (id: string): string => `/redfish/v1/EventService/Subscriptions/${id}`;

/** When a rejected client should retry, in seconds. */
const RETRY_AFTER_S = '30';

/**
 * Maximum length of the JSON of a subscription. A change of one subscription writes all of them
 * before the answer. 200 of this size take some milliseconds; with 1 MiB each they took seconds.
 */
const LONGEST_RECORD = 16 * 1024;

/** @throws {RedfishError} PayloadTooLarge. */
function checkSize(record: NewSubscription): void {
  if (JSON.stringify(record).length <= LONGEST_RECORD) return;
  const detail = `A subscription has ${LONGEST_RECORD} characters of JSON at most.`;
  throw new RedfishError(413, [withDetail(message('PayloadTooLarge'), detail)]);
}

/** A stream whose client reads nothing for this time is closed. */
const STALLED_MS = 120_000;

/** Opens the subscriptions and starts the stored listeners. */
export function createSubscriptions(options: SubscriptionsOptions): Subscriptions {
  const { feed, bus, reports, state, post, log, limit } = options;
  const pushes = new Map<string, Push>();
  const streams = new Map<string, Stream>();
  let listed: readonly Subscription[] | undefined;
  let closed = false;

  /**
   * Stores all listeners.
   * @param without a subscription that is about to end.
   */
  const store = (without?: string): void =>
    state.update((present) => ({
      ...present,
      subscriptions: [...pushes.values()]
        .map(({ subscription }) => subscription.record)
        .filter(({ id }) => id !== without),
    }));
  const set = (push: Push, subscription: PushSubscription): void => {
    push.subscription = subscription;
    listed = undefined;
  };
  /** Stores a change. If this fails, nothing changes. */
  const keep = (push: Push, change: Partial<PushRecord>): void => {
    const before = push.subscription;
    set(push, { ...before, record: { ...before.record, ...change } });
    try {
      store();
    } catch (error) {
      set(push, before);
      throw error;
    }
  };
  const tell = (
    key: 'ResourceCreated' | 'ResourceRemoved' | 'ResourceChanged',
    id: string,
    actor: Actor | null,
  ): void =>
    bus.publish({
      messageId: `${resourceEventRegistry}.${key}`,
      messageArgs: [],
      severity: 'OK',
      origin: subscriptionUri(id),
      system: null,
      actor,
      time: new Date(),
      detail: `EventService/Subscriptions/${id}.`,
    });
  const checkRoom = (asker: Asker): void => {
    const listeners = [...pushes.values()].map(({ subscription: { record } }): Place => ({
      kind: 'push',
      owner: record.owner,
      address: null,
    }));
    const open = [...streams.values()].map(({ subscription }): Place => subscription);
    if (hasPlace(asker, [...listeners, ...open], limit)) return;
    const fault = message('EventSubscriptionLimitExceeded');
    throw new RedfishError(503, [fault], { 'Retry-After': RETRY_AFTER_S });
  };

  const start = (record: PushRecord): Push => {
    const shown = maskUrl(record.destination);
    const { queue, listen } = waiting(record);
    const delivery = new PushDelivery({
      queue,
      post,
      listener: () => {
        const { destination, httpHeaders, verifyCertificate } = push.subscription.record;
        return { url: new URL(destination), headers: httpHeaders, verifyCertificate };
      },
      context: () => push.subscription.record.context,
      policy: () => push.subscription.record.policy,
      retries: () => ({ attempts: state.state.retryAttempts, intervalMs: state.state.retryIntervalSeconds * 1000 }),
      onHealth: (failure) => {
        set(push, { ...push.subscription, failing: failure !== null });
        if (failure === null) log.info(`events are delivered again to ${shown}`, { subscription: record.id });
        else log.warn(`events can not be delivered to ${shown}`, { subscription: record.id, error: failure });
      },
      onGivenUp: (end) => {
        log.warn(`delivery of events to ${shown} is given up: ${end}`, { subscription: record.id });
        try {
          if (end === 'terminate') remove(record.id);
          else keep(push, { suspended: true });
        } catch (error) {
          log.warn('keeping the subscriptions failed', { error });
        }
        tell(end === 'terminate' ? 'ResourceRemoved' : 'ResourceChanged', record.id, null);
      },
    });
    if (record.suspended) delivery.suspend();
    const leave = listen(() => delivery.notify());
    const push: Push = { subscription: { kind: 'push', record, failing: false }, delivery, leave };
    pushes.set(record.id, push);
    listed = undefined;
    return push;
  };
  /** Creates the queue of a listener, and the function that fills it. */
  const waiting = (record: PushRecord): { queue: PayloadQueue; listen: (notify: () => void) => () => void } => {
    if (record.format === 'MetricReport') {
      const queue = new ReportQueue();
      const definitions = new Set(record.reportDefinitions);
      const wants = reportsOf(
        record.machine,
        (definition) => definitions.size === 0 || (definition !== null && definitions.has(definition)),
      );
      const listen = (notify: () => void): (() => void) => {
        const deliver = (message: ReportMessage): void => {
          queue.push(message);
          notify();
        };
        return reports?.subscribe({ wants, deliver }) ?? (() => undefined);
      };
      return { queue, listen };
    }
    const queue = new EventQueue(feed, options.backlog);
    const listen = (notify: () => void): (() => void) => {
      const deliver = (event: FeedEvent): void => {
        queue.push(event);
        notify();
      };
      return feed.add({ wants: eventsOf(record.machine, createFilter(record.wanted)), deliver });
    };
    return { queue, listen };
  };
  const stop = (id: string, push: Push): void => {
    push.leave();
    push.delivery.close();
    pushes.delete(id);
    listed = undefined;
  };
  const remove = (id: string): boolean => {
    const push = pushes.get(id);
    if (push !== undefined) {
      // Update the file first: if this fails, the subscription continues.
      store(id);
      stop(id, push);
      return true;
    }
    const stream = streams.get(id);
    stream?.close();
    return stream !== undefined;
  };

  const closeStreams = (): void => {
    closed = true;
    for (const { close } of [...streams.values()]) close();
  };

  for (const record of state.state.subscriptions) start(record);

  return {
    list: () =>
      (listed ??= [
        ...[...pushes.values()].map(({ subscription }) => subscription),
        ...[...streams.values()].map(({ subscription }) => subscription),
      ]),
    find: (id) => pushes.get(id)?.subscription ?? streams.get(id)?.subscription,
    create(record, { isAdministrator }) {
      checkSize(record);
      checkRoom({ kind: 'push', owner: record.owner, address: null, isAdministrator });
      const push = start({ machine: null, ...record, id: randomUUID(), suspended: false });
      try {
        store();
      } catch (error) {
        stop(push.subscription.record.id, push);
        throw error;
      }
      return push.subscription;
    },
    change(id, change) {
      const push = pushes.get(id);
      if (push === undefined) return;
      checkSize({ ...push.subscription.record, ...change });
      keep(push, change);
    },
    suspend(id) {
      const push = pushes.get(id);
      if (push === undefined) return;
      keep(push, { suspended: true });
      push.delivery.suspend();
    },
    resume(id) {
      const push = pushes.get(id);
      if (push === undefined) return;
      keep(push, { suspended: false });
      push.delivery.resume();
    },
    remove,
    openStream({ wants: wanted, machine = null, lastEventId, actor, isAdministrator, peer, isWelcome }) {
      const asked = wanted ?? everyEvent;
      const wants = {
        ...asked,
        events: eventsOf(machine, asked.events),
        reports: asked.reports === null ? null : reportsOf(machine, asked.reports),
      };
      if (closed) throw refuse('ServiceShuttingDown');
      const { user: owner, address } = actor;
      checkRoom({ kind: 'stream', owner, address, isAdministrator });
      const id = randomUUID();
      return (output) => {
        const stream = new EventStream(output, {
          feed,
          context: '',
          limit: options.backlog,
          keepAliveMs: options.keepAliveMs,
          stalledMs: STALLED_MS,
          isWelcome,
          onEnd: () => {
            leave();
            leaveReports?.();
            streams.delete(id);
            listed = undefined;
            if (!closed) tell('ResourceRemoved', id, actor);
          },
        });
        const missed = lastEventId === undefined ? undefined : feed.since(lastEventId);
        if (missed !== undefined) {
          const events = missed.events.filter(wants.events);
          stream.replay({ ...missed, events });
        }
        const leave = feed.add({ wants: wants.events, deliver: (event) => stream.deliver(event) });
        const { format, reports: wantsReport } = wants;
        const deliver = (message: ReportMessage): void => stream.deliverReport(message);
        const leaveReports = wantsReport === null ? undefined : reports?.subscribe({ wants: wantsReport, deliver });
        const destination = `redfish-sse://${peer}`;
        const subscription = { kind: 'stream', id, destination, address, owner, format, machine } as const;
        streams.set(id, { subscription, close: () => stream.close() });
        listed = undefined;
        // This is also the first event of the stream, which shows the client that the stream is
        // open.
        tell('ResourceCreated', id, actor);
        // The client may have disconnected before the listeners existed.
        if (output.destroyed) stream.close();
      };
    },
    get retries() {
      return { attempts: state.state.retryAttempts, intervalSeconds: state.state.retryIntervalSeconds };
    },
    setRetries({ attempts, intervalSeconds }) {
      state.update((present) => ({
        ...present,
        retryAttempts: attempts ?? present.retryAttempts,
        retryIntervalSeconds: intervalSeconds ?? present.retryIntervalSeconds,
      }));
    },
    closeStreams,
    close() {
      closeStreams();
      for (const { delivery, leave } of pushes.values()) {
        leave();
        delivery.close();
      }
      feed.close();
    },
  };
}
