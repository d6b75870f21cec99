/**
 * The events of all replicas. Each replica adds its events to a list in Redis, and reads the events of all
 * of them from it. So all replicas have the same events with the same numbers.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import type { SharedStore } from '../../replicas/shared-store.js';
import type { EventBus, ServiceEvent } from '../event-bus.js';
import type { EventSource } from '../event-feed.js';
import { isEndOfMachine, logNameOf, recordOf } from '../log-records.js';
import { appendScript, readScript } from './event-scripts.js';

/** The events of all replicas. */
export interface SharedEvents {
  readonly source: EventSource;
  /** Stores the waiting events, as far as Redis answers. */
  close(): Promise<void>;
}

interface SharedEventsOptions {
  readonly store: SharedStore;
  /** The events of this replica. */
  readonly bus: EventBus;
  /** Maximum number of stored events. */
  readonly capacity: number;
  /** Maximum number of entries of a log. */
  readonly logLimit: number;
  readonly log: Pick<Log, 'warn'>;
}

/** Events that wait for Redis. */
const MAX_WAITING = 1000;
/**
 * All replicas observe the cloud, every 10 s. In this time, a replica reports a state again only if it has
 * reported the state before itself.
 */
const OBSERVED_MS = 30_000;
const CHANNEL = 'events';
const eventKeys = ['events:list', 'events:number', 'events:run'] as const;

/** The name of a log's list. */
export const logKeyOf = (name: string): string => `log:entries:${name}`;
/** The name of the number of a log's entries so far. */
export const logNumberKeyOf = (name: string): string => `log:number:${name}`;
/** The name of the set with the names of the logs. */
export const LOG_NAMES = 'log:names';

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
const answerSchema = z.tuple([z.string(), z.int()]).rest(z.string());

/** Opens the events. @throws {StoreUnavailable} */
export async function openSharedEvents(options: SharedEventsOptions): Promise<SharedEvents> {
  const events = new StoredEvents(options);
  await events.open();
  return events;
}

class StoredEvents implements SharedEvents {
  readonly #options: SharedEventsOptions;
  readonly #listeners = new Set<(event: ServiceEvent, sequence: number) => void>();
  /** Events of this replica that Redis does not have yet. */
  #waiting: ServiceEvent[] = [];
  #appending: Promise<void> | undefined;
  #reading: Promise<void> | undefined;
  #isStale = false;
  /** The events before the first listener. */
  #stored: { readonly event: ServiceEvent; readonly sequence: number }[] = [];
  #run = '';
  #newest = 0;
  #lost = 0;
  #unsubscribe = (): void => undefined;

  readonly source: EventSource;

  constructor(options: SharedEventsOptions) {
    this.#options = options;
    const run = () => this.#run;
    const newest = () => this.#newest;
    const stored = () => this.#stored;
    this.source = {
      get run() {
        return run();
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

  async open(): Promise<void> {
    const { store, bus } = this.#options;
    this.#unsubscribe = bus.subscribe((event) => this.#add(event));
    await store.listen(CHANNEL, () => void this.#read());
    store.onBeat(() => {
      void this.#append();
      void this.#read();
    });
    await this.#read();
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    await this.#append();
  }

  #add(event: ServiceEvent): void {
    this.#waiting.push(event);
    if (this.#waiting.length > MAX_WAITING) {
      this.#waiting.shift();
      this.#lost += 1;
    }
    void this.#append();
  }

  /** Stores the waiting events, one after the other. Without Redis, they wait for the next beat. */
  #append(): Promise<void> {
    this.#appending ??= this.#appendAll().finally(() => (this.#appending = undefined));
    return this.#appending;
  }

  async #appendAll(): Promise<void> {
    for (let event = this.#waiting[0]; event !== undefined; event = this.#waiting[0]) {
      try {
        await this.#appendOne(event);
      } catch {
        // The store reports its failure. Redis may have the event nevertheless, and then gets it twice.
        return;
      }
      if (this.#waiting[0] === event) this.#waiting.shift();
    }
    if (this.#lost > 0) this.#options.log.warn(`${this.#lost} events were lost while the shared store did not answer`);
    this.#lost = 0;
  }

  async #appendOne(event: ServiceEvent): Promise<void> {
    const { store, capacity, logLimit } = this.#options;
    const log = logNameOf(event) ?? '';
    const entry = log === '' || isEndOfMachine(event) ? '' : JSON.stringify(recordOf(event));
    const { subject, state } = reportOf(event);
    const keys = [...eventKeys, CHANNEL, `events:last:${subject}`, logKeyOf(log), logNumberKeyOf(log), LOG_NAMES];
    const observed = event.actor === null ? '1' : '0';
    const run = randomBytes(4).toString('hex');
    const words = [JSON.stringify(event), String(capacity), run, state, observed, store.replica, String(OBSERVED_MS)];
    await store.run(appendScript, keys, [...words, log, entry, String(logLimit)]);
  }

  /** Reads new events. A call while a reading runs causes one more. */
  #read(): Promise<void> {
    this.#isStale = true;
    this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #readAll(): Promise<void> {
    while (this.#isStale) {
      this.#isStale = false;
      let answer;
      try {
        answer = await this.#options.store.run(readScript, eventKeys, [String(this.#newest), this.#run]);
      } catch {
        // The next beat tries again.
        return;
      }
      const [run, newest, ...texts] = answerSchema.parse(answer);
      // The numbers of lost data say nothing about the new ones.
      this.#run = run;
      this.#newest = newest - texts.length;
      for (const text of texts) this.#deliver(text);
    }
  }

  #deliver(text: string): void {
    this.#newest += 1;
    let event: ServiceEvent;
    try {
      event = eventSchema.parse(JSON.parse(text));
    } catch (error) {
      this.#options.log.warn('ignoring an event in the shared store with an unknown form', { error });
      return;
    }
    if (this.#listeners.size === 0) this.#stored.push({ event, sequence: this.#newest });
    for (const listener of this.#listeners) listener(event, this.#newest);
  }
}

/**
 * Returns the state that an event reports, and of which part of a machine; empty for other events. All
 * replicas observe the states of machines, and one of them reports each change.
 */
function reportOf({ system, messageId, origin }: ServiceEvent): { readonly subject: string; readonly state: string } {
  if (system === null || !messageId.startsWith('ResourceEvent.') || !origin.startsWith('/redfish/v1/Systems/'))
    return { subject: '', state: '' };
  const part = messageId.endsWith('.ResourceChanged') ? 'definition' : 'power';
  return { subject: `${part}:${system}`, state: messageId };
}
