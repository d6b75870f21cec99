/** Queues for one subscriber: many events per payload, one metric report per payload. */
import { stringify } from '../../redfish/answer.js';
import type { JsonObject } from '../../redfish/json.js';
import type { ReportMessage } from '../../offers/report-source.js';
import { EventBacklog } from '../event-backlog.js';
import type { EventFeed } from '../event-feed.js';
import { renderEvents, type FeedEvent } from '../event-record.js';

/** A payload that was taken from the queue. */
interface Payload {
  /** @param context the subscriber's context. */
  render(context: string | null): string;
  /** Puts back a payload that was not delivered. Drops a report if a newer one of its definition waits. */
  putBack(): void;
  /** Marks the payload as delivered. */
  markDelivered(): void;
}

/** The payloads of one subscription that wait for their delivery. */
export interface PayloadQueue {
  readonly isEmpty: boolean;
  /** Takes the next payload. Call this only if the queue is not empty. */
  take(): Payload;
}

/** Maximum number of events in one payload, without the report of lost events. */
const MAX_AT_ONCE = 50;

/** Waiting events, with a report of lost ones. */
export class EventQueue implements PayloadQueue {
  readonly #feed: Pick<EventFeed, 'lossOf'>;
  readonly #backlog: EventBacklog;
  /** The first event of a payload that was taken, until it is delivered or put back. */
  #taken: FeedEvent | undefined;

  /** @param limit maximum number of waiting events. */
  constructor(feed: Pick<EventFeed, 'lossOf'>, limit: number) {
    this.#feed = feed;
    this.#backlog = new EventBacklog(limit);
  }

  get isEmpty(): boolean {
    return this.#backlog.size === 0;
  }

  /** The oldest event that has not been delivered; undefined if there is none. */
  get oldest(): FeedEvent | undefined {
    return this.#taken ?? this.#backlog.oldest;
  }

  /** Counts events that were lost before they reached this queue. */
  countLost(count: number): void {
    this.#backlog.countLost(count);
  }

  push(event: FeedEvent): void {
    this.#backlog.push(event);
  }

  take(): Payload {
    const batch = this.#backlog.take(MAX_AT_ONCE);
    this.#taken = batch.events[0];
    const loss = batch.dropped > 0 ? [this.#feed.lossOf(batch.dropped, batch.events[0])] : [];
    return {
      render: (context) => renderEvents([...loss, ...batch.events], context),
      putBack: () => {
        this.#taken = undefined;
        this.#backlog.putBack(batch);
      },
      markDelivered: () => (this.#taken = undefined),
    };
  }
}

/**
 * Waiting metric reports. A newer report replaces a waiting one of the same definition. A
 * subscriber that was not reachable needs only the current values. The counters in a report include the
 * time that the subscriber missed.
 */
export class ReportQueue implements PayloadQueue {
  readonly #waiting = new Map<string, ReportMessage>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  push(message: ReportMessage): void {
    // A report of a machine keeps its place, because otherwise frequent reports could delay it without end.
    if (message.isTest === true) this.#waiting.delete(message.key);
    this.#waiting.set(message.key, message);
  }

  take(): Payload {
    const [message] = this.#waiting.values();
    if (message === undefined) throw new Error('taking a report: there is no waiting report');
    this.#waiting.delete(message.key);
    return {
      render: (context) => renderReportMessage(message, context),
      putBack: () => {
        if (!this.#waiting.has(message.key)) this.#waiting.set(message.key, message);
      },
      markDelivered: () => undefined,
    };
  }
}

/** Cached texts of bodies, shared by all subscribers. */
const texts = new WeakMap<JsonObject, string>();

/**
 * Renders a metric report.
 * @param context the subscriber's context.
 */
function renderReportMessage({ body }: ReportMessage, context: string | null): string {
  const known = texts.get(body);
  const text = known ?? stringify(body);
  if (known === undefined) texts.set(body, text);
  return context === null ? text : `${text.slice(0, -1)},${stringify({ Context: context }).slice(1)}`;
}
