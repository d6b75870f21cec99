/**
 * Stores the events of a replica in Redis, in their order. While Redis does not answer, the events wait in
 * memory, up to a limit.
 */
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import type { ServiceEvent } from '../event-bus.js';
import { isEndOfMachine, logNameOf, recordOf } from '../log-records.js';
import { appendScript, eventKeys } from './event-scripts.js';

/** The channel of the messages about new events. */
export const EVENT_CHANNEL = 'events';
/** Returns the name of the key with the entries of a log. */
export const logKeyOf = (name: string): string => `log:entries:${name}`;
/** Returns the name of the key that counts the entries of a log. */
export const logNumberKeyOf = (name: string): string => `log:number:${name}`;
/** The name of the set with the names of the logs. */
export const LOG_NAMES = 'log:names';

/** Options of {@link SharedEventWriter}. */
interface SharedEventWriterOptions {
  readonly store: SharedStore;
  /** Maximum number of stored events. */
  readonly capacity: number;
  /** Maximum number of entries of a log. */
  readonly logLimit: number;
  readonly log: Pick<Log, 'warn'>;
  /** Called after each batch, so that this replica reads the batch before later ones replace it. */
  readonly afterBatch: () => Promise<void>;
}

interface WaitingEvent {
  readonly event: ServiceEvent;
  readonly text: string;
}

/** Maximum length of all events that wait for Redis, as JSON, in characters. */
const MAX_WAITING_LENGTH = 16 * 1024 * 1024;
/**
 * Limits of a batch. Redis runs nothing else while it stores a batch, and all replicas must read the
 * batch before later batches replace it.
 */
const BATCH_EVENTS = 100;
const BATCH_LENGTH = 1024 * 1024;
/**
 * After one replica has reported a state, the other replicas do not report the same state within this time. It is
 * longer than the 10 s after which each replica reads the cloud again.
 */
const OBSERVED_MS = 30_000;
const failuresSchema = z.array(z.string());

/** Stores the events of this replica in the shared store, in batches. */
export class SharedEventWriter {
  readonly #options: SharedEventWriterOptions;
  #waiting: WaitingEvent[] = [];
  #waitingLength = 0;
  #writing: Promise<void> | undefined;
  #lost = 0;

  constructor(options: SharedEventWriterOptions) {
    this.#options = options;
  }

  /** Adds an event, and begins to store the waiting events if no storing is in progress. */
  add(event: ServiceEvent): void {
    const text = JSON.stringify(event);
    this.#waiting.push({ event, text });
    this.#waitingLength += text.length;
    void this.write();
  }

  /** Stores the waiting events. If Redis does not answer, the caller retries later. */
  write(): Promise<void> {
    this.#writing ??= this.#writeAll().finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    // The caller may add more events in this turn, which then share a batch.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      this.#dropOldest();
      const batch = this.#nextBatch();
      try {
        await this.#store(batch);
      } catch {
        // The store reports its failure. Redis may have stored the events nevertheless, and then gets them
        // twice.
        this.#dropOldest();
        return;
      }
      this.#remove(batch.length);
      await this.#options.afterBatch();
    }
    if (this.#lost === 0) return;
    const limit = `${MAX_WAITING_LENGTH / 1024 / 1024} Mi characters`;
    this.#options.log.warn(`${this.#lost} events were lost: more than ${limit} waited for the shared store`);
    this.#lost = 0;
  }

  #nextBatch(): readonly WaitingEvent[] {
    let length = 0;
    const end = this.#waiting.findIndex(({ text }, index) => {
      length += text.length;
      return index === BATCH_EVENTS || (index > 0 && length > BATCH_LENGTH);
    });
    return this.#waiting.slice(0, end === -1 ? this.#waiting.length : end);
  }

  #remove(count: number): void {
    for (const { text } of this.#waiting.splice(0, count)) this.#waitingLength -= text.length;
  }

  #dropOldest(): void {
    let [count, length] = [0, this.#waitingLength];
    for (const { text } of this.#waiting) {
      if (length <= MAX_WAITING_LENGTH) break;
      length -= text.length;
      count += 1;
    }
    this.#remove(count);
    this.#lost += count;
  }

  async #store(batch: readonly WaitingEvent[]): Promise<void> {
    const { store, capacity, logLimit, log } = this.#options;
    const keys: string[] = [...eventKeys, EVENT_CHANNEL, LOG_NAMES];
    const run = randomBytes(4).toString('hex');
    const args = [String(capacity), run, store.replica, String(OBSERVED_MS), String(logLimit)];
    for (const { event, text } of batch) {
      const name = logNameOf(event) ?? '';
      const entry = name === '' || isEndOfMachine(event) ? '' : JSON.stringify(recordOf(event));
      const { subject, state } = reportOf(event);
      keys.push(`events:last:${subject}`, logKeyOf(name), logNumberKeyOf(name));
      args.push(text, state, event.actor === null ? '1' : '0', name, entry);
    }
    for (const failure of failuresSchema.parse(await store.run(appendScript, keys, args)))
      log.warn(`the shared store does not accept an entry of log ${failure}`);
  }
}

/**
 * Returns the reported state and the part of the machine that has it. Both are empty for events that
 * report no state. All replicas observe the states of machines, and one of them reports each change.
 */
function reportOf(event: ServiceEvent): { readonly subject: string; readonly state: string } {
  const { system, messageId, messageArgs, origin } = event;
  if (system === null || !messageId.startsWith('ResourceEvent.') || !origin.startsWith('/redfish/v1/Systems/'))
    return { subject: '', state: '' };
  const part = messageId.endsWith('.ResourceChanged') ? 'definition' : 'power';
  // A reset, a resume and a suspend have the same message, ResourceStateChanged. Only its second argument
  // distinguishes them. The first argument is the name of the machine, which two replicas may know differently after
  // a rename.
  return { subject: `${part}:${system}`, state: [messageId, ...messageArgs.slice(1)].join(' ') };
}
