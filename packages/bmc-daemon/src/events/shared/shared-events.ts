/**
 * The events of all replicas. Each replica adds its events to a list in Redis, and reads the events
 * of all replicas from this list. So all replicas have the same events with the same numbers.
 */
import { hash } from 'node:crypto';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import type { EventBus, ServiceEvent } from '../event-bus.js';
import { lossEvent, type EventSource } from '../event-feed.js';
import { eventKeys, readScript } from './event-scripts.js';
import { EVENT_CHANNEL, SharedEventWriter } from './event-writer.js';

/** The events of all replicas. */
export interface SharedEvents {
  readonly source: EventSource;
  /** Ignores later events of the bus. Stores the waiting events, if Redis answers. */
  close(): Promise<void>;
}

interface SharedEventsOptions {
  readonly store: SharedStore;
  /** The events of this replica. */
  readonly bus: EventBus;
  /** Maximum number of stored events. */
  readonly capacity: number;
  /** Maximum number of entries of a log: that of the service, or that of a machine. */
  readonly logLimit: number;
  readonly log: Pick<Log, 'warn'>;
}

const eventSchema: z.ZodType<ServiceEvent> = z.object({
  messageId: z.string(),
  messageArgs: z.array(z.string()),
  severity: z.enum(['OK', 'Warning', 'Critical']),
  origin: z.string(),
  system: z.string().nullable(),
  actor: z.object({ user: z.string().nullable(), address: z.string() }).nullable(),
  time: z.iso.datetime().transform((text) => new Date(text)),
  detail: z.string().exactOptional(),
  message: z.string().exactOptional(),
  testId: z.string().exactOptional(),
});
/**
 * The answer of {@link readScript}: the random name, the newest number, a word, and elements. `some`: the elements
 * after the last known element. `all`: all elements, because Redis does not have the last known element.
 */
const answerSchema = z.tuple([z.string(), z.int(), z.enum(['some', 'all'])]).rest(z.string());

/**
 * Begins to store the events of this replica, and to read those of all replicas.
 * @throws {StoreUnavailable}
 */
export async function openSharedEvents(options: SharedEventsOptions): Promise<SharedEvents> {
  const { store, bus } = options;
  const reader = new EventReader(options);
  const writer = new SharedEventWriter({ ...options, afterBatch: () => reader.read() });
  const unsubscribe = bus.subscribe((event) => writer.add(event));
  await store.listen(EVENT_CHANNEL, () => void reader.read());
  store.onHeartbeat(() => {
    void writer.write();
    void reader.read();
  });
  await reader.read();
  return {
    source: reader.source,
    close: async () => {
      unsubscribe();
      await writer.write();
    },
  };
}

class EventReader {
  readonly #options: SharedEventsOptions;
  readonly #listeners = new Set<(event: ServiceEvent, sequence: number) => void>();
  #reading: Promise<void> | undefined;
  #isStale = false;
  /** Events that arrived before the first listener. */
  #stored: { readonly event: ServiceEvent; readonly sequence: number }[] = [];
  /** The digests of the latest elements that this replica has read, oldest first. */
  readonly #known = new Set<string>();
  #last = { number: 0, digest: '' };
  /** Identifies the data in Redis. It changes if Redis loses its data. */
  #dataId = '';
  #newest = 0;

  readonly source: EventSource;

  constructor(options: SharedEventsOptions) {
    this.#options = options;
    const dataId = () => this.#dataId;
    const newest = () => this.#newest;
    const stored = () => this.#stored;
    this.source = {
      get run() {
        return dataId();
      },
      get newest() {
        return newest();
      },
      get stored() {
        return stored();
      },
      subscribe: (listener) => {
        this.#stored = [];
        this.#listeners.add(listener);
        return () => void this.#listeners.delete(listener);
      },
    };
  }

  /** Reads new events. A call during a running read causes one more read. */
  read(): Promise<void> {
    this.#isStale = true;
    this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      const { number, digest } = this.#last;
      let answer;
      try {
        answer = await this.#options.store.run(readScript, eventKeys, [String(number), this.#dataId, digest]);
      } catch {
        // The next heartbeat retries.
        return;
      }
      const [dataId, newest, which, ...elements] = answerSchema.parse(answer);
      // At the first read, or if Redis has lost its data, the last number does not belong to the events in Redis.
      if (dataId !== this.#dataId) this.#last = { number: 0, digest: '' };
      this.#dataId = dataId;
      if (which === 'all') this.#deliverUnknown(elements);
      else for (const element of elements) this.#deliver(element);
      this.#newest = newest;
    }
  }

  /** Delivers the stored elements that this replica has not read before. */
  #deliverUnknown(elements: readonly string[]): void {
    const isKnown = elements.map((element) => this.#known.has(digestOf(element)));
    const [oldest] = elements;
    // If the list is full and has no known element, it has lost elements that this replica never
    // read.
    if (oldest !== undefined && elements.length >= this.#options.capacity && !isKnown.includes(true)) {
      const lost = numberOf(oldest) - this.#last.number - 1;
      if (this.#last.number > 0 && lost > 0) this.#reportLoss(lost, numberOf(oldest) - 1);
    }
    for (const [index, element] of elements.entries()) if (isKnown[index] !== true) this.#deliver(element);
  }

  #reportLoss(count: number, sequence: number): void {
    this.#options.log.warn(`${count} events were lost: this replica did not read them in time`);
    this.#send(lossEvent(count), sequence);
  }

  #deliver(element: string): void {
    const { log, capacity } = this.#options;
    const digest = digestOf(element);
    this.#known.add(digest);
    const [oldest] = this.#known;
    if (this.#known.size > capacity && oldest !== undefined) this.#known.delete(oldest);
    this.#last = { number: numberOf(element), digest };
    try {
      this.#send(eventSchema.parse(JSON.parse(element.slice(element.indexOf(' ') + 1))), this.#last.number);
    } catch (error) {
      log.warn('ignoring an event of an unknown form in the shared store', { error });
    }
  }

  #send(event: ServiceEvent, sequence: number): void {
    this.#newest = sequence;
    if (this.#listeners.size === 0) this.#stored.push({ event, sequence });
    for (const listener of this.#listeners) listener(event, sequence);
  }
}

const digestOf = (element: string): string => hash('sha1', element, 'hex');
/** Returns the number of an element, as the script does; 0 for an element without a number. */
const numberOf = (element: string): number => Number(/^\d+/.exec(element)?.[0] ?? 0);
