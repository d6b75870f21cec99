/**
 * The subscribers of events: listeners, which are stored across restarts, and open streams. Lists, adds,
 * changes and removes them.
 */
import type { Log } from '@rackless/daemon/log/log.js';
import { RedfishError } from '../../redfish/messages/errors.js';
import { message } from '../../redfish/messages/messages.js';
import { resourceEventRegistry } from '../../redfish/messages/resource-event-registry.js';
import type { Awaitable } from '../../redfish/resource.js';
import type { StreamSource } from '../../redfish/stream.js';
import type { StateFile } from '../../state-file.js';
import type { ReportSource } from '../../offers/report-source.js';
import type { Actor, EventBus } from '../event-bus.js';
import type { EventFeed } from '../event-feed.js';
import type { EventPost } from './event-post.js';
import { OpenStreams, type EventStreamRequest } from './open-streams.js';
import { PushListeners } from './push-listeners.js';
import {
  checkSize,
  subscriptionUri,
  type NewSubscription,
  type PushChange,
  type PushSubscription,
  type Subscription,
  type SubscriptionsState,
} from './subscription.js';
import { hasPlace, type PlaceRequest, type Place } from './subscription-shares.js';

/** A change of the retries of all listeners. */
interface RetryChange {
  readonly attempts?: number;
  readonly intervalSeconds?: number;
}

/** The subscriptions of one daemon. */
export interface OpenSubscriptions extends Subscriptions {
  readonly listeners: Pick<PushListeners, 'list' | 'deliver' | 'positions' | 'reload' | 'setFailing' | 'close'>;
}

/**
 * The subscriptions of the service: of one daemon, or of all replicas. With replicas, a change of stored data can
 * also reject with {StoreUnavailable} or {ChangeRefused}.
 */
export interface Subscriptions {
  /**
   * Lists subscriptions in the order of creation, listeners first; the same array until something
   * changes.
   */
  list(): readonly Subscription[];
  /** Returns a listener or an open stream; undefined if there is none with this id. */
  find(id: string): Subscription | undefined;
  /**
   * Creates a listener.
   * @param hasConfigureManager see {@link PlaceRequest}.
   * @throws {RedfishError} EventSubscriptionLimitExceeded, PayloadTooLarge.
   * @throws {StateFileError}
   */
  create(record: NewSubscription, requester: { readonly hasConfigureManager: boolean }): Awaitable<PushSubscription>;
  /** Changes a listener; ignores an unknown id. @throws {RedfishError} PayloadTooLarge. @throws {StateFileError} */
  change(id: string, change: PushChange): Awaitable<void>;
  /** Suspends the delivery to a listener; ignores an unknown id. @throws {StateFileError} */
  suspend(id: string): Awaitable<void>;
  /** Resumes the delivery to a listener; ignores an unknown id. @throws {StateFileError} */
  resume(id: string): Awaitable<void>;
  /**
   * Removes a subscription; closes a stream.
   * @returns false if it does not exist.
   * @throws {StateFileError}
   */
  remove(id: string): Awaitable<boolean>;
  /** Returns the source of a new stream. @throws {RedfishError} EventSubscriptionLimitExceeded, ServiceShuttingDown. */
  openStream(request: EventStreamRequest): StreamSource;
  /** The retries of all listeners. */
  readonly retries: { readonly attempts: number; readonly intervalSeconds: number };
  /** Changes {@link retries}. @throws {StateFileError} */
  setRetries(change: RetryChange): Awaitable<void>;
  /** Closes all streams, and rejects new ones. */
  closeStreams(): void;
  /** Closes the streams and stops all deliveries. */
  close(): void;
}

/** Options of {@link createSubscriptions}. */
interface SubscriptionsOptions {
  readonly feed: EventFeed;
  readonly bus: EventBus;
  /** The source of metric reports; null without telemetry. */
  readonly reports: ReportSource | null;
  readonly state: StateFile<SubscriptionsState>;
  /** Whether several replicas share the listeners in `state`. */
  readonly isShared: boolean;
  readonly post: EventPost;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /**
   * Maximum number of listeners and streams in total; {@link hasPlace} divides them among the
   * clients.
   */
  readonly limit: number;
  /** Maximum number of events that wait for one subscriber. */
  readonly backlog: number;
  readonly keepAliveMs: number;
}

/** When a rejected client should retry, in seconds. */
const RETRY_AFTER_S = '30';

/** Opens the subscriptions, and starts the deliveries to the stored listeners, unless replicas share them. */
export function createSubscriptions(options: SubscriptionsOptions): OpenSubscriptions {
  const { feed, bus, state, limit } = options;
  let listed: readonly Subscription[] | undefined;
  const onChange = (): void => {
    listed = undefined;
  };
  const checkRoom = (request: PlaceRequest): void => {
    const places = [...pushes.list().map(placeOf), ...streams.list()];
    if (hasPlace(request, places, limit)) return;
    throw new RedfishError(503, [message('EventSubscriptionLimitExceeded')], { 'Retry-After': RETRY_AFTER_S });
  };
  const pushes = new PushListeners({ ...options, onChange, publish: (change, id) => publish(bus, change, id, null) });
  const streams = new OpenStreams({
    ...options,
    checkRoom,
    onChange,
    publish: (change, id, actor) => publish(bus, change, id, actor),
  });

  return {
    listeners: pushes,
    list: () => (listed ??= [...pushes.list(), ...streams.list()]),
    find: (id) => pushes.find(id) ?? streams.find(id),
    create(record, { hasConfigureManager }) {
      checkSize(record);
      checkRoom({ kind: 'push', owner: record.owner, address: null, hasConfigureManager });
      return pushes.create(record);
    },
    change: (id, change) => pushes.change(id, change),
    suspend: (id) => pushes.suspend(id),
    resume: (id) => pushes.resume(id),
    remove: (id) => pushes.remove(id) || streams.remove(id),
    openStream: (request) => streams.open(request),
    get retries() {
      return { attempts: state.state.retryAttempts, intervalSeconds: state.state.retryIntervalSeconds };
    },
    setRetries({ attempts, intervalSeconds }) {
      state.update((old) => ({
        ...old,
        retryAttempts: attempts ?? old.retryAttempts,
        retryIntervalSeconds: intervalSeconds ?? old.retryIntervalSeconds,
      }));
    },
    closeStreams: () => streams.close(),
    close() {
      streams.close();
      pushes.close();
      feed.close();
    },
  };
}

function placeOf({ record: { owner } }: PushSubscription): Place {
  return { kind: 'push', owner, address: null };
}

function publish(
  bus: EventBus,
  change: 'ResourceCreated' | 'ResourceRemoved' | 'ResourceChanged',
  id: string,
  actor: Actor | null,
): void {
  bus.publish({
    messageId: `${resourceEventRegistry}.${change}`,
    messageArgs: [],
    severity: 'OK',
    origin: subscriptionUri(id),
    system: null,
    actor,
    time: new Date(),
    detail: `EventService/Subscriptions/${id}.`,
  });
}
