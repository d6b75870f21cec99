/**
 * Server-Sent Events to one client (HTML Living Standard, server-sent events; DSP0266, Server-Sent
 * Events).
 */
import type { Writable } from 'node:stream';
import type { ReportMessage } from '../../offers/report-source.js';
import { EventBacklog } from '../event-backlog.js';
import type { EventFeed, Replay } from '../event-feed.js';
import { renderEvents, type FeedEvent } from '../event-record.js';
import { ReportQueue } from './payload-queue.js';

interface EventStreamOptions {
  readonly feed: Pick<EventFeed, 'lossOf' | 'extraId'>;
  readonly context: string | null;
  /** Maximum number of events that wait for a client. */
  readonly limit: number;
  /**
   * The interval of keep-alive lines. They are needed because proxies close silent connections, and
   * because only a write shows that a client is gone.
   */
  readonly keepAliveMs: number;
  /** A client that reads nothing, or too little to empty the output's buffer, is disconnected after this time. */
  readonly stalledMs: number;
  /**
   * Whether the client may still receive events; its account may have been removed. Called before
   * each group of writes, and at the interval of keep-alive lines.
   */
  readonly isAuthorized: () => boolean;
  /** Called once, when the stream ends. */
  readonly onEnd: () => void;
}

/**
 * Maximum number of events in one write, without the report of lost events. Events share writes, so that a slow
 * client catches up quickly.
 */
const MAX_AT_ONCE = 50;

/**
 * The stream of events to one client.
 * @see https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #output: Writable;
  readonly #backlog: EventBacklog;
  readonly #reports = new ReportQueue();
  readonly #keepAlive: NodeJS.Timeout;
  /** When the output's buffer became full; undefined while it has room. */
  #fullSince: number | undefined;
  #scheduled = false;
  #ended = false;

  constructor(output: Writable, options: EventStreamOptions) {
    this.#output = output;
    this.#options = options;
    this.#backlog = new EventBacklog(options.limit);
    output.on('drain', () => {
      this.#fullSince = undefined;
      this.#pump();
    });
    // The reason of an error does not matter.
    output.on('error', () => this.close());
    output.on('close', () => this.close());
    this.#keepAlive = setInterval(() => this.#tick(), options.keepAliveMs);
    this.#keepAlive.unref();
  }

  /** Sends the events that the client missed, before all others. */
  replay({ events, missed }: Replay): void {
    if (missed > 0) this.#backlog.countLost(missed);
    for (const event of events) this.deliver(event);
  }

  /** Sends an event soon, after the waiting ones. Does nothing if the stream has ended. */
  deliver(event: FeedEvent): void {
    if (this.#ended) return;
    this.#backlog.push(event);
    // After a pause of this process, one turn may bring more events than the queue can store. So full batches are
    // sent at once.
    if (this.#backlog.size >= MAX_AT_ONCE && this.#fullSince === undefined) this.#pump();
    else this.#schedule();
  }

  /** Sends a metric report after the waiting events. Does nothing if the stream has ended. */
  deliverReport(message: ReportMessage): void {
    if (this.#ended) return;
    this.#reports.push(message);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#fullSince !== undefined) return;
    this.#scheduled = true;
    // Writes in the next turn of the event loop. So the publisher does not wait for sockets, and
    // its next events are in the same write.
    setImmediate(() => {
      this.#scheduled = false;
      this.#pump();
    });
  }

  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    clearInterval(this.#keepAlive);
    this.#output.end();
    // A client that does not read would never close the connection.
    if (this.#fullSince !== undefined) this.#output.destroy();
    this.#options.onEnd();
  }

  #pump(): void {
    if (!this.#ended && !this.#options.isAuthorized()) this.close();
    while (!this.#ended && this.#fullSince === undefined && this.#backlog.size > 0) {
      const { events, dropped } = this.#backlog.take(MAX_AT_ONCE);
      const loss = dropped > 0 ? [this.#options.feed.lossOf(dropped, events[0])] : [];
      this.#write([...loss, ...events].map((event) => this.#format(event)).join(''));
    }
    while (!this.#ended && this.#fullSince === undefined && !this.#reports.isEmpty) {
      const { feed, context } = this.#options;
      this.#write(`id: ${feed.extraId()}\ndata: ${this.#reports.take().render(context)}\n\n`);
    }
  }

  #tick(): void {
    const { stalledMs, isAuthorized } = this.#options;
    if (!isAuthorized()) this.close();
    else if (this.#fullSince === undefined) this.#write(': still here\n\n');
    else if (performance.now() - this.#fullSince > stalledMs) this.close();
  }

  #write(text: string): void {
    if (!this.#output.write(text)) this.#fullSince = performance.now();
  }

  #format(event: FeedEvent): string {
    return `id: ${event.id}\ndata: ${renderEvents([event], this.#options.context)}\n\n`;
  }
}
