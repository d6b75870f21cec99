/**
 * Queues that all replicas share, one for each key. The first ticket of a queue holds the lease of
 * the key. A replica renews its tickets. If a replica ends, its tickets expire, and the next ticket
 * becomes the first.
 */
import { z } from 'zod';
import { cancelScript, leaveScript, visitScript } from './lease-scripts.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import { StoreUnavailable } from '@rackless/daemon/shared-store/store-unavailable.js';

/** A place in a queue. Its owner must {@link leave} at the end. */
export interface Ticket {
  /**
   * Resolves when the ticket holds the lease.
   * @throws {TicketCancelled} if the ticket was cancelled, or has left before.
   * @throws {StoreUnavailable} if the store does not answer the first request, or if it later does
   *   not answer for the time of a lease.
   */
  readonly held: Promise<void>;
  /**
   * Renews the lease. Call it before each write that the lease protects.
   * @throws {LeaseLost} if another replica may have the lease, or if the ticket does not hold it.
   */
  check(): Promise<void>;
  /** Ends the lease, or leaves the queue. */
  leave(): void;
}

/**
 * Another replica may have the lease, because this replica or the store did not answer for too
 * long.
 */
export class LeaseLost extends Error {
  override readonly name = 'LeaseLost';
}

/** {@link LeaseQueues.cancelWaiting} has removed the ticket, or its owner has left. The message is the reason. */
export class TicketCancelled extends Error {
  override readonly name = 'TicketCancelled';
}

/** A ticket that is not renewed for this time expires. */
const LEASE_MS = 15_000;
/** Interval at which a replica renews each of its tickets. */
const RENEW_MS = 4000;
/**
 * A write may take this time after its check. So if Redis does not answer, the last write must
 * begin this time before the end of the lease.
 */
const WRITE_MS = 5000;

const CHANNEL = 'leases';
const answerSchema = z.tuple([z.enum(['first', 'waiting', 'gone']), z.string()]);

/** The queues of all keys. */
export class LeaseQueues {
  readonly #store: SharedStore;
  readonly #tickets = new Map<string, StoredTicket>();
  #count = 0;

  private constructor(store: SharedStore) {
    this.#store = store;
  }

  /**
   * Opens the queues. Several objects may use one store, if their keys differ.
   * @throws {StoreUnavailable} if the store does not answer.
   */
  static async open(store: SharedStore): Promise<LeaseQueues> {
    const queues = new LeaseQueues(store);
    await store.listen(CHANNEL, (id) => queues.#tickets.get(id)?.wake());
    return queues;
  }

  /**
   * Joins the queue of a key.
   * @param label a label for {@link cancelWaiting}, without `|`.
   */
  join(key: string, label: string): Ticket {
    this.#count += 1;
    const id = `${label}|${key}|${this.#store.replica}|${this.#count}`;
    const run = (script: string, args: readonly string[]) => this.#run(key, script, [id, ...args]);
    const ticket = new StoredTicket(run, () => this.#tickets.delete(id));
    this.#tickets.set(id, ticket);
    return ticket;
  }

  /**
   * Removes the waiting tickets of a key with the given label, at all replicas. Does not remove the
   * first ticket.
   * @param options `before`: another label. Only tickets in front of the first waiting ticket with this label are
   *   removed. Default: all.
   * @throws {StoreUnavailable} if the store does not answer. It may have removed the tickets nevertheless.
   */
  async cancelWaiting(
    key: string,
    label: string,
    reason: string,
    { before = '' }: { readonly before?: string | undefined },
  ): Promise<void> {
    await this.#run(key, cancelScript, [label, before, reason]);
  }

  #run(key: string, script: string, args: readonly string[]): Promise<unknown> {
    const own = ['queue', 'expiry', 'reasons'].map((name) => `lease:${name}:${key}`);
    return this.#store.run(script, [...own, 'tickets', CHANNEL], args);
  }
}

class StoredTicket implements Ticket {
  readonly held: Promise<void>;
  readonly #run: (script: string, args: readonly string[]) => Promise<unknown>;
  readonly #onLeave: () => void;
  readonly #timer: NodeJS.Timeout;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;
  #state: 'waiting' | 'held' | 'ended' = 'waiting';
  #mayJoin = true;
  /** The start of the last visit that Redis has answered, by the monotonic clock. */
  #renewedAt = -Infinity;

  constructor(run: (script: string, args: readonly string[]) => Promise<unknown>, onLeave: () => void) {
    this.#run = run;
    this.#onLeave = onLeave;
    this.held = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // The owner may not wait anymore when the ticket ends. Without this, Node would report an unhandled rejection.
    this.held.catch(() => undefined);
    this.#timer = setInterval(() => this.wake(), RENEW_MS).unref();
    this.wake();
  }

  /** Renews the ticket, and learns its state from the store. Does nothing after the end of the ticket. */
  wake(): void {
    if (this.#state !== 'ended') void this.#visit();
  }

  async check(): Promise<void> {
    if (this.#state === 'held') await this.#visit();
    const age = performance.now() - this.#renewedAt;
    if (this.#state !== 'held' || age > LEASE_MS - WRITE_MS) throw new LeaseLost('another replica may hold the lease');
  }

  leave(): void {
    this.#end(new TicketCancelled('the ticket has left'));
    // If the store does not answer, the ticket stays in the queue until it expires.
    this.#run(leaveScript, []).catch(() => undefined);
    this.#onLeave();
  }

  async #visit(): Promise<void> {
    const startedAt = performance.now();
    try {
      const answer = await this.#run(visitScript, [this.#mayJoin ? '1' : '0', String(LEASE_MS)]);
      this.#renewedAt = startedAt;
      this.#apply(...answerSchema.parse(answer));
    } catch (error) {
      if (this.#state !== 'waiting' || performance.now() - this.#renewedAt < LEASE_MS) return;
      this.#end(error instanceof StoreUnavailable ? error : new StoreUnavailable(String(error), { cause: error }));
    }
  }

  #apply(place: 'first' | 'waiting' | 'gone', reason: string): void {
    if (this.#state === 'ended') return;
    // If a waiting ticket has expired, or Redis has lost its data, the ticket joins again. A ticket
    // that held the lease does not: its operation may have begun, and must not begin again.
    this.#mayJoin = place === 'gone' && this.#state === 'waiting';
    if (place === 'first' && this.#state === 'waiting') {
      this.#state = 'held';
      this.#resolve();
    } else if (place === 'gone') {
      if (this.#state === 'held') this.#end(new LeaseLost('the lease has expired'));
      else if (reason === '') this.wake();
      else this.#end(new TicketCancelled(reason));
    }
  }

  #end(error: Error): void {
    this.#state = 'ended';
    clearInterval(this.#timer);
    this.#reject(error);
  }
}
