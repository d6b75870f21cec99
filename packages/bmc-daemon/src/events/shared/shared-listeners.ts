/**
 * The listeners of all replicas, in the shared store. Only one replica at a time delivers events to
 * the listeners. The delivering replica has a lease, and stores the position of each listener. If it ends,
 * another replica continues from these positions.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { LeaseQueues, type Ticket } from '../../replicas/lease-queue.js';
import { SharedRecord } from '../../replicas/shared-record.js';
import type { SharedStore } from '@rackless/daemon/shared-store/shared-store.js';
import type { StateFile } from '../../state-file.js';
import type { EventPost } from '../subscriptions/event-post.js';
import { noSubscriptions, subscriptionsState, type SubscriptionsState } from '../subscriptions/subscription.js';
import type { OpenSubscriptions, Subscriptions } from '../subscriptions/subscriptions.js';

/** The state of the listeners, and the right to deliver to them. */
export interface SharedListeners {
  readonly state: StateFile<SubscriptionsState>;
  /** Returns a function that posts only if no other replica may deliver. Otherwise, the function rejects. */
  checked(post: EventPost): EventPost;
  /**
   * Begins to deliver when no other replica does.
   * @returns subscriptions whose changes apply at all replicas.
   */
  share(subscriptions: OpenSubscriptions): Subscriptions;
  /** Stores the position of each listener, and lets another replica deliver. */
  close(): Promise<void>;
}

const KIND = 'events';
const ID = 'subscriptions';
/** The id of the value with the ids of the listeners that do not accept events. */
const FAILING = 'failing';
const LEASE = 'event-deliveries';
const POSITIONS = 'events:delivered';
const storeScript = `
redis.call('DEL', KEYS[1])
if #ARGV > 0 then redis.call('HSET', KEYS[1], unpack(ARGV)) end`;
const readScript = `return redis.call('HGETALL', KEYS[1])`;
const texts = z.array(z.string());

/** Returns the listeners in the shared store. Delivers nothing before `share`. @throws {StoreUnavailable} */
export async function openSharedListeners(
  store: SharedStore,
  log: Pick<Log, 'info' | 'warn' | 'error'>,
): Promise<SharedListeners> {
  return new StoredListeners(store, await LeaseQueues.open(store), log);
}

class StoredListeners implements SharedListeners {
  readonly #store: SharedStore;
  readonly #leases: LeaseQueues;
  readonly #log: Pick<Log, 'warn'>;
  readonly state: StateFile<SubscriptionsState>;
  readonly #record: SharedRecord<SubscriptionsState>;
  #listeners: OpenSubscriptions['listeners'] | undefined;
  #ticket: Ticket | undefined;
  #isDelivering = false;
  #isInHeartbeat = false;
  #isClosed = false;
  /** The stored positions, as text. */
  #positions = '';

  constructor(store: SharedStore, leases: LeaseQueues, log: Pick<Log, 'info' | 'warn' | 'error'>) {
    this.#store = store;
    this.#leases = leases;
    this.#log = log;
    const record = new SharedRecord({
      store,
      kind: KIND,
      id: ID,
      what: 'the subscriptions',
      schema: subscriptionsState,
      initial: noSubscriptions,
      log,
    });
    this.#record = record;
    this.state = {
      path: 'the shared store',
      get state() {
        return record.value;
      },
      update: (change) => this.#update(change),
    };
  }

  checked(post: EventPost): EventPost {
    return async (...args) => {
      await this.#check();
      await post(...args);
    };
  }

  share(subscriptions: OpenSubscriptions): Subscriptions {
    this.#listeners = subscriptions.listeners;
    subscriptions.listeners.reload();
    this.#loadFailing();
    this.#record.onLoad(() => subscriptions.listeners.reload());
    this.#store.onChange(() => this.#loadFailing());
    this.#store.onHeartbeat(() => void this.#heartbeat());
    if (this.#record.isReadable) this.#join();
    return {
      ...subscriptions,
      get retries() {
        return subscriptions.retries;
      },
      create: (record, requester) => this.#record.change(() => subscriptions.create(record, requester)),
      change: (id, change) => this.#record.change(() => subscriptions.change(id, change)),
      suspend: (id) => this.#record.change(() => subscriptions.suspend(id)),
      resume: (id) => this.#record.change(() => subscriptions.resume(id)),
      // A stream belongs to a connection of this replica, so it is not stored.
      remove: (id) =>
        subscriptions.find(id)?.kind === 'stream'
          ? subscriptions.remove(id)
          : this.#record.change(() => subscriptions.remove(id)),
      setRetries: (change) => this.#record.change(() => subscriptions.setRetries(change)),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#storePositions().catch(() => undefined);
    this.#leave();
  }

  /**
   * Changes the subscriptions. A change outside of a request comes from the delivery itself. This change applies
   * at once to the copy of this replica, and again in the background to the stored value.
   */
  #update(change: (state: SubscriptionsState) => SubscriptionsState): void {
    const isInRequest = this.#record.isChanging;
    this.#record.update(change);
    if (isInRequest) return;
    this.#record
      .change(() => this.#record.update(change))
      .catch((error: unknown) => this.#log.warn('storing the subscriptions failed', { error }));
  }

  #loadFailing(): void {
    const { value } = this.#store.get(KIND, FAILING) ?? { value: [] };
    this.#listeners?.setFailing(new Set(texts.safeParse(value).data));
  }

  /** Joins the queue for the right to deliver. Delivers when no other replica has this right. */
  #join(): void {
    const ticket = this.#leases.join(LEASE, 'delivery');
    this.#ticket = ticket;
    ticket.held
      .then(() => this.#deliver(ticket))
      .catch(() => {
        ticket.leave();
        if (this.#ticket === ticket) this.#ticket = undefined;
      });
  }

  async #deliver(ticket: Ticket): Promise<void> {
    const fields = texts.parse(await this.#store.run(readScript, [POSITIONS], []));
    const positions = new Map<string, string>();
    for (let index = 0; index + 1 < fields.length; index += 2)
      positions.set(fields[index] ?? '', fields[index + 1] ?? '');
    await ticket.check();
    if (this.#isClosed) return;
    this.#isDelivering = true;
    this.#listeners?.deliver(positions);
  }

  /**
   * Joins the queue for the right to deliver, if this replica is not in it. While this replica delivers,
   * stores the position and the failure of each listener; stops if another replica may deliver.
   */
  async #heartbeat(): Promise<void> {
    if (this.#isInHeartbeat || this.#isClosed) return;
    this.#isInHeartbeat = true;
    try {
      // This replica cannot read the subscriptions, so it lets another replica deliver.
      if (!this.#record.isReadable) this.#leave();
      else if (this.#ticket === undefined) this.#join();
      else if (this.#isDelivering) {
        await this.#check();
        await this.#storePositions();
        await this.#storeFailing();
      }
    } catch {
      // The next heartbeat retries.
    } finally {
      this.#isInHeartbeat = false;
    }
  }

  /**
   * Stops all deliveries and throws if another replica may deliver. The deliveries stop first, so the
   * policy of a subscription does not count the failed attempt.
   */
  async #check(): Promise<void> {
    const ticket = this.#ticket;
    try {
      await ticket?.check();
    } catch (error) {
      if (this.#ticket === ticket) this.#leave();
      throw error;
    }
  }

  async #storePositions(): Promise<void> {
    if (!this.#isDelivering || this.#listeners === undefined) return;
    const args = [...this.#listeners.positions()].flat();
    const text = args.join(' ');
    if (text === this.#positions) return;
    await this.#store.run(storeScript, [POSITIONS], args);
    this.#positions = text;
  }

  async #storeFailing(): Promise<void> {
    const value = (this.#listeners?.list() ?? []).filter(({ failing }) => failing).map(({ record }) => record.id);
    if (isDeepStrictEqual(value, this.#store.get(KIND, FAILING)?.value ?? [])) return;
    await this.#store.commit([{ kind: KIND, id: FAILING, value }]);
  }

  #leave(): void {
    this.#stop();
    this.#ticket?.leave();
    this.#ticket = undefined;
  }

  #stop(): void {
    this.#isDelivering = false;
    this.#positions = '';
    this.#listeners?.close();
  }
}
