/** Server-Sent Events to one client (HTML Living Standard, server-sent events; DSP0266, Server-Sent Events). */
import type { Writable } from 'node:stream';
import type { ReportMessage } from '../telemetry/report.js';
import { EventBacklog } from './event-backlog.js';
import type { EventFeed, Replay } from './event-feed.js';
import { renderEvents, type FeedEvent } from './event-record.js';
import { ReportQueue } from './payload-queue.js';

export interface EventStreamOptions {
  readonly feed: Pick<EventFeed, 'lossOf' | 'asideId'>;
  readonly context: string | null;
  /** How many events wait for a client at most. */
  readonly limit: number;
  /** How often a line goes out that says nothing: proxies close what is silent, and a client that is gone is noticed. */
  readonly keepAliveMs: number;
  /** A client that takes nothing for so long is given up. */
  readonly stalledMs: number;
  /** Whether the client may still be told: its account may have gone. Asked before each write. */
  readonly isWelcome: () => boolean;
  /** Told once, when the client is gone or was sent away. */
  readonly onEnd: () => void;
}

/** Events of one write: a client that has fallen behind catches up in few of them. */
const MOST_AT_ONCE = 50;

export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #output: Writable;
  readonly #backlog: EventBacklog;
  readonly #reports = new ReportQueue();
  readonly #keepAlive: NodeJS.Timeout;
  /** The client's side is full since then; undefined while it takes what comes. */
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
    // An error is followed by close, and nobody needs to know why a client went away.
    output.on('error', () => this.close());
    output.on('close', () => this.close());
    this.#keepAlive = setInterval(() => this.#tick(), options.keepAliveMs);
    this.#keepAlive.unref();
  }

  /** Gives what the client has missed, before everything else. */
  replay({ events, missed }: Replay): void {
    if (missed > 0) this.#backlog.lost(missed);
    for (const event of events) this.deliver(event);
  }

  deliver(event: FeedEvent): void {
    if (this.#ended) return;
    this.#backlog.push(event);
    this.#schedule();
  }

  deliverReport(message: ReportMessage): void {
    if (this.#ended) return;
    this.#reports.push(message);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#scheduled || this.#fullSince !== undefined) return;
    this.#scheduled = true;
    // In the next turn: who publishes does not write to sockets, and what it publishes next goes along.
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
    // A client that takes nothing would not let go by itself.
    if (this.#fullSince !== undefined) this.#output.destroy();
    this.#options.onEnd();
  }

  #pump(): void {
    if (!this.#ended && !this.#options.isWelcome()) this.close();
    while (!this.#ended && this.#fullSince === undefined && this.#backlog.size > 0) {
      const { events, dropped } = this.#backlog.take(MOST_AT_ONCE);
      const loss = dropped > 0 ? [this.#options.feed.lossOf(dropped, events[0])] : [];
      this.#write([...loss, ...events].map((event) => this.#format(event)).join(''));
    }
    while (!this.#ended && this.#fullSince === undefined && !this.#reports.isEmpty) {
      const { feed, context } = this.#options;
      this.#write(`id: ${feed.asideId()}\ndata: ${this.#reports.take().render(context)}\n\n`);
    }
  }

  #tick(): void {
    const { stalledMs, isWelcome } = this.#options;
    if (!isWelcome()) this.close();
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
