/** What waits for one listener, as the payloads that it is sent: events many at a time, metric reports one by one. */
import { stringify } from '../redfish/answer.js';
import type { JsonObject } from '../redfish/json.js';
import type { ReportMessage } from '../telemetry/report.js';
import { EventBacklog } from './event-backlog.js';
import type { EventFeed } from './event-feed.js';
import { renderEvents, type FeedEvent } from './event-record.js';

/** One payload, taken out of the queue. */
export interface Payload {
  /** @param context the subscriber's own. */
  render(context: string | null): string;
  /** It could not be delivered: it waits again. */
  putBack(): void;
}

export interface PayloadQueue {
  readonly isEmpty: boolean;
  take(): Payload;
}

/** Events that go with one payload. */
const MOST_AT_ONCE = 50;

/** Events, and what is said of those that were lost. */
export class EventQueue implements PayloadQueue {
  readonly #feed: Pick<EventFeed, 'lossOf'>;
  readonly #backlog: EventBacklog;

  /** @param limit how many wait at most. */
  constructor(feed: Pick<EventFeed, 'lossOf'>, limit: number) {
    this.#feed = feed;
    this.#backlog = new EventBacklog(limit);
  }

  get isEmpty(): boolean {
    return this.#backlog.size === 0;
  }

  push(event: FeedEvent): void {
    this.#backlog.push(event);
  }

  take(): Payload {
    const batch = this.#backlog.take(MOST_AT_ONCE);
    const loss = batch.dropped > 0 ? [this.#feed.lossOf(batch.dropped, batch.events[0])] : [];
    return {
      render: (context) => renderEvents([...loss, ...batch.events], context),
      putBack: () => this.#backlog.putBack(batch),
    };
  }
}

/**
 * Metric reports. A newer one takes the place of one that still waits: who was away wants to know how things are, and what happened
 * in between is in the counters.
 */
export class ReportQueue implements PayloadQueue {
  readonly #waiting = new Map<string, ReportMessage>();

  get isEmpty(): boolean {
    return this.#waiting.size === 0;
  }

  push(message: ReportMessage): void {
    this.#waiting.set(message.key, message);
  }

  take(): Payload {
    const [message] = this.#waiting.values();
    if (message === undefined) throw new Error('taking a report: none waits');
    this.#waiting.delete(message.key);
    return {
      render: (context) => renderReportMessage(message, context),
      putBack: () => {
        if (!this.#waiting.has(message.key)) this.#waiting.set(message.key, message);
      },
    };
  }
}

/** The text of a body, made once for all who are sent it. */
const texts = new WeakMap<JsonObject, string>();

/** A MetricReport as it is sent. @param context the subscriber's own. */
function renderReportMessage({ body }: ReportMessage, context: string | null): string {
  const known = texts.get(body);
  const text = known ?? stringify(body);
  if (known === undefined) texts.set(body, text);
  return context === null ? text : `${text.slice(0, -1)},${stringify({ Context: context }).slice(1)}`;
}
