/** Creates the queues of listeners, and fills them. */
import type { ReportMessage, ReportSource } from '../../offers/report-source.js';
import type { EventFeed } from '../event-feed.js';
import { createFilter } from '../event-filter.js';
import type { FeedEvent } from '../event-record.js';
import { eventsOf, reportsOf } from '../machine-filter.js';
import { EventQueue, ReportQueue, type PayloadQueue } from './payload-queue.js';
import type { PushRecord } from './subscription.js';

/** The queue of a listener, and the source that fills it. */
interface QueueWithSource {
  readonly queue: PayloadQueue;
  /**
   * Begins to fill the queue.
   * @param after the id of the last delivered event. Default: that of the newest event. Reports do not use it.
   * @returns a function that stops filling it.
   */
  readonly listen: (notify: () => void, after?: string) => () => void;
  /** Returns the id of the last delivered event; undefined for a listener that receives metric reports. */
  readonly position: () => string | undefined;
}

/** The sources, and the maximum number of events that wait for one listener. */
interface QueueOptions {
  readonly feed: EventFeed;
  /** Null without telemetry. */
  readonly reports: ReportSource | null;
  readonly backlog: number;
}

/** Creates the queue of a listener. */
export function createQueue(record: PushRecord, { feed, reports, backlog }: QueueOptions): QueueWithSource {
  return record.format === 'MetricReport' ? reportQueue(record, reports) : eventQueue(record, feed, backlog);
}

function reportQueue({ machine, reportDefinitions }: PushRecord, reports: ReportSource | null): QueueWithSource {
  const queue = new ReportQueue();
  const definitions = new Set(reportDefinitions);
  const wants = reportsOf(
    machine,
    (definition) => definitions.size === 0 || (definition !== null && definitions.has(definition)),
  );
  const listen = (notify: () => void): (() => void) => {
    const deliver = (message: ReportMessage): void => {
      queue.push(message);
      notify();
    };
    return reports?.subscribe({ wants, deliver }) ?? (() => undefined);
  };
  return { queue, listen, position: () => undefined };
}

function eventQueue({ machine, wanted }: PushRecord, feed: EventFeed, backlog: number): QueueWithSource {
  const queue = new EventQueue(feed, backlog);
  const wants = eventsOf(machine, createFilter(wanted));
  const listen = (notify: () => void, after?: string): (() => void) => {
    const deliver = (event: FeedEvent): void => {
      queue.push(event);
      notify();
    };
    if (after !== undefined) {
      const { events, missed } = feed.since(after);
      if (missed > 0) queue.countLost(missed);
      for (const event of events) if (wants(event)) deliver(event);
    }
    return feed.add({ wants, deliver });
  };
  return { queue, listen, position: () => feed.idBefore(queue.oldest) };
}
