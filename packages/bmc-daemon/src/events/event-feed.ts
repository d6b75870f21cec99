/**
 * Numbers the bus's events, stores the latest ones for clients that reconnect, and delivers them to
 * subscribers.
 */
import { randomBytes } from 'node:crypto';
import { baseRegistry } from '../redfish/messages/base-registry.js';
import type { EventBus, ServiceEvent } from './event-bus.js';
import type { EventFilter } from './event-filter.js';
import { prefixOf, withoutVersion, type FeedEvent } from './event-record.js';

/** A receiver of events. `deliver` must return at once. */
interface Subscriber {
  readonly wants: EventFilter;
  deliver(event: FeedEvent): void;
}

/** The events after a certain event. */
export interface Replay {
  readonly events: readonly FeedEvent[];
  /** Number of later events that are no longer stored. It is too high if the numbers of the events have gaps. */
  readonly missed: number;
}

/**
 * Numbers the events of the event bus, stores the latest ones, and delivers them to subscribers.
 */
export interface EventFeed {
  /**
   * Adds a subscriber.
   * @returns a function that removes it.
   */
  add(subscriber: Subscriber): () => void;
  /**
   * Returns the stored events after the event with the given id; all stored events for an unknown
   * id, or for an id of another {@link EventSource.run}.
   */
  since(id: string): Replay;
  /**
   * Returns an event that reports lost events to one subscriber. This event has no sequence number of its own,
   * but the number before that of `next`. So a client that reconnects with the id of this event continues with `next`.
   * @param next the event that follows the report; undefined: the next event of the source.
   */
  lossOf(count: number, next: FeedEvent | undefined): FeedEvent;
  /**
   * Returns an id for {@link since}, which then returns `event` and all later events.
   * @param event undefined: the next event of the source.
   */
  idBefore(event: FeedEvent | undefined): string;
  /**
   * Returns a unique id for a message that is not an event, such as a metric report. A client that
   * reconnects with this id continues after the last event.
   */
  extraId(): string;
  close(): void;
}

/** Numbered events. The numbers grow from 1, and may have gaps. */
export interface EventSource {
  /** Identifies the numbers. Changes if they begin again: at each start, or with a shared store if Redis has lost them. */
  readonly run: string;
  /** The number of the newest event. */
  readonly newest: number;
  /** The events before the first subscription, oldest first. */
  readonly stored: readonly { readonly event: ServiceEvent; readonly sequence: number }[];
  /** @returns a function that ends the subscription. */
  subscribe(listener: (event: ServiceEvent, sequence: number) => void): () => void;
}

/** Returns an event that reports lost events. */
export function lossEvent(count: number): ServiceEvent {
  return {
    messageId: `${baseRegistry}.EventBufferExceeded`,
    messageArgs: [],
    severity: 'Warning',
    origin: '/redfish/v1/EventService',
    system: null,
    actor: null,
    time: new Date(),
    detail: `${count} events were lost.`,
  };
}

/** Numbers the events of a bus. */
export function localSource(bus: EventBus): EventSource {
  const run = randomBytes(4).toString('hex');
  let sequence = 0;
  return {
    run,
    get newest() {
      return sequence;
    },
    stored: [],
    subscribe: (listener) =>
      bus.subscribe((event) => {
        sequence += 1;
        listener(event, sequence);
      }),
  };
}

interface EventFeedOptions {
  readonly source: EventSource;
  /** Returns the type of the resource at a URI, `ComputerSystem`; empty if there is none. */
  readonly typeOf: (uri: string) => string;
  /** Maximum number of events that the feed stores for replay. */
  readonly capacity: number;
}

/** Creates a feed, which listens to the source. */
export function createEventFeed({ source, typeOf, capacity }: EventFeedOptions): EventFeed {
  const subscribers = new Set<Subscriber>();
  /** The latest events, oldest first. */
  const latest: FeedEvent[] = [];
  /** Number of created ids that belong to no event. */
  let extras = 0;

  const feedEventOf = (event: ServiceEvent, number: number, id: string): FeedEvent => ({
    sequence: number,
    id,
    event,
    registryPrefix: prefixOf(event.messageId),
    versionlessId: withoutVersion(event.messageId),
    resourceType: typeOf(event.origin),
  });
  const store = (event: ServiceEvent, sequence: number): FeedEvent => {
    const feedEvent = feedEventOf(event, sequence, `${source.run}-${sequence}`);
    latest.push(feedEvent);
    if (latest.length > capacity) latest.shift();
    return feedEvent;
  };
  for (const { event, sequence } of source.stored) store(event, sequence);
  const unsubscribe = source.subscribe((event, sequence) => {
    const feedEvent = store(event, sequence);
    for (const subscriber of subscribers) if (subscriber.wants(feedEvent)) subscriber.deliver(feedEvent);
  });

  return {
    add(subscriber) {
      const own = { ...subscriber };
      subscribers.add(own);
      return () => void subscribers.delete(own);
    },
    since(id) {
      const { run, newest: sequence } = source;
      const [theirRun, number] = id.split('-');
      const known = theirRun === run ? Number(number) : Number.NaN;
      const after = Number.isSafeInteger(known) && known >= 0 && known <= sequence ? known : 0;
      const events = latest.filter((event) => event.sequence > after && event.id === `${run}-${event.sequence}`);
      const oldest = latest.find((event) => event.id === `${run}-${event.sequence}`)?.sequence ?? sequence + 1;
      return { events, missed: Math.max(0, oldest - 1 - after) };
    },
    lossOf(count, next) {
      extras += 1;
      const { run, newest: sequence } = source;
      // A client that reconnects with this id continues after the lost events.
      const before = next === undefined ? sequence : next.sequence - 1;
      return feedEventOf(lossEvent(count), before, `${run}-${before}-${extras}`);
    },
    idBefore: (event) => `${source.run}-${event === undefined ? source.newest : event.sequence - 1}`,
    extraId() {
      extras += 1;
      return `${source.run}-${source.newest}-${extras}`;
    },
    close: () => unsubscribe(),
  };
}
