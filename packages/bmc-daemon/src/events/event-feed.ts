/** The bus's events in sequence, with the last of them kept for who comes back, given to each subscriber that wants them. */
import { randomBytes } from 'node:crypto';
import { baseRegistry } from '../redfish/base-registry.js';
import type { EventBus, ServiceEvent } from './event-bus.js';
import type { EventFilter } from './event-filter.js';
import { prefixOf, withoutVersion, type FeedEvent } from './event-record.js';

/** One that is given events. `deliver` returns at once. */
export interface Subscriber {
  readonly wants: EventFilter;
  deliver(event: FeedEvent): void;
}

/** What happened after a certain event. */
export interface Replay {
  readonly events: readonly FeedEvent[];
  /** How many that are no longer kept. */
  readonly missed: number;
}

export interface EventFeed {
  /** @returns a function that ends it. */
  add(subscriber: Subscriber): () => void;
  /**
   * Everything after the event with this id. Of an id of an earlier process, or none of ours, nothing is known: all that is kept.
   */
  since(id: string): Replay;
  /**
   * The event that says how many events a subscriber has lost: for it alone, and not in the sequence.
   * @param next the event that it will stand before, if there is one.
   */
  lossOf(count: number, next: FeedEvent | undefined): FeedEvent;
  /** An id for what is sent beside the events: unique, and who comes back with it goes on behind the last event. */
  asideId(): string;
  close(): void;
}

export interface EventFeedOptions {
  readonly bus: EventBus;
  /** The type of the resource at a URI, `ComputerSystem`; empty for what is none. */
  readonly typeOf: (uri: string) => string;
  /** How many events are kept for replay. */
  readonly kept: number;
}

/** Begins to listen to the bus. */
export function createEventFeed({ bus, typeOf, kept }: EventFeedOptions): EventFeed {
  // Ids of two runs of the service must differ, and those of one be in order.
  const run = randomBytes(4).toString('hex');
  const subscribers = new Set<Subscriber>();
  const ring: (FeedEvent | undefined)[] = Array.from({ length: kept });
  let sequence = 0;
  let asides = 0;

  const place = (event: ServiceEvent, number: number, id: string): FeedEvent => ({
    sequence: number,
    id,
    event,
    registryPrefix: prefixOf(event.messageId),
    versionlessId: withoutVersion(event.messageId),
    resourceType: typeOf(event.origin),
  });
  const leave = bus.subscribe((event) => {
    sequence += 1;
    const feedEvent = place(event, sequence, `${run}-${sequence}`);
    ring[sequence % kept] = feedEvent;
    for (const subscriber of subscribers) if (subscriber.wants(feedEvent)) subscriber.deliver(feedEvent);
  });

  return {
    add(subscriber) {
      const own = { ...subscriber };
      subscribers.add(own);
      return () => void subscribers.delete(own);
    },
    since(id) {
      const [theirRun, number] = id.split('-');
      const known = theirRun === run ? Number(number) : Number.NaN;
      const after = Number.isSafeInteger(known) && known >= 0 && known <= sequence ? known : 0;
      const oldest = Math.max(after, sequence - kept);
      const events: FeedEvent[] = [];
      for (let next = oldest + 1; next <= sequence; next += 1) {
        const event = ring[next % kept];
        if (event !== undefined) events.push(event);
      }
      return { events, missed: oldest - after };
    },
    lossOf(count, next) {
      asides += 1;
      // Who comes back with the id of this one goes on behind what is lost.
      const before = next === undefined ? sequence : next.sequence - 1;
      const event: ServiceEvent = {
        messageId: `${baseRegistry}.EventBufferExceeded`,
        messageArgs: [],
        severity: 'Warning',
        origin: '/redfish/v1/EventService',
        system: null,
        actor: null,
        time: new Date(),
        detail: `${count} events were lost.`,
      };
      return place(event, before, `${run}-${before}-${asides}`);
    },
    asideId() {
      asides += 1;
      return `${run}-${sequence}-${asides}`;
    },
    close: () => leave(),
  };
}
