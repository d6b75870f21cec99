/**
 * The listeners of all replicas, in the shared store. One replica at a time delivers to all of them: it
 * holds a lease, and stores what it has delivered. If it dies, another one continues after that.
 */
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { Log } from '@rackless/daemon/log/log.js';
import { LeaseQueues, type Ticket } from '../../replicas/lease-queue.js';
import type { SharedStore } from '../../replicas/shared-store.js';
import { StoreUnavailable } from '../../replicas/store-unavailable.js';
import type { StateFile } from '../../state-file.js';
import type { EventPost } from '../subscriptions/event-post.js';
import { noSubscriptions, subscriptionsState, type SubscriptionsState } from '../subscriptions/subscription.js';
import type { OpenSubscriptions, Subscriptions } from '../subscriptions/subscriptions.js';

/** The state of the listeners, and the right to deliver to them. */
export interface SharedListeners {
  readonly state: StateFile<SubscriptionsState>;
  /** Returns a function that first checks that this replica still delivers. */
  checked(post: EventPost): EventPost;
  /** Begins to deliver when no other replica does. @returns subscriptions whose changes hold at all replicas. */
  share(subscriptions: OpenSubscriptions): Subscriptions;
  /** Stores what has been delivered, and lets another replica deliver. */
  close(): Promise<void>;
}

const KIND = 'events';
const ID = 'subscriptions';
/** The listeners that do not accept events. */
const FAILING = 'failing';
const MAX_ATTEMPTS = 5;
const LEASE = 'event-deliveries';
const POSITIONS = 'events:delivered';
const storeScript = `
redis.call('DEL', KEYS[1])
if #ARGV > 0 then redis.call('HSET', KEYS[1], unpack(ARGV)) end`;
const readScript = `return redis.call('HGETALL', KEYS[1])`;
const texts = z.array(z.string());

/** Opens the listeners. @throws {StoreUnavailable} */
export async function openSharedListeners(
  store: SharedStore,
  log: Pick<Log, 'info' | 'warn'>,
): Promise<SharedListeners> {
  return new StoredListeners(store, await LeaseQueues.open(store), log);
}

class StoredListeners implements SharedListeners {
  readonly #store: SharedStore;
  readonly #leases: LeaseQueues;
  readonly #log: Pick<Log, 'info' | 'warn'>;
  readonly state: StateFile<SubscriptionsState>;
  #content: SubscriptionsState = noSubscriptions;
  #revision = 0;
  #isChanging = false;
  #last: Promise<unknown> = Promise.resolve();
  #listeners: OpenSubscriptions['listeners'] | undefined;
  #ticket: Ticket | undefined;
  #isDelivering = false;
  #isBeating = false;
  #isClosed = false;
  /** The stored positions, as text. */
  #positions = '';

  constructor(store: SharedStore, leases: LeaseQueues, log: Pick<Log, 'info' | 'warn'>) {
    this.#store = store;
    this.#leases = leases;
    this.#log = log;
    const content = () => this.#content;
    this.state = {
      path: 'the shared store',
      get state() {
        return content();
      },
      update: (change) => this.#update(change),
    };
    this.#load();
  }

  checked(post: EventPost): EventPost {
    return async (...words) => {
      await this.#check();
      await post(...words);
    };
  }

  share(subscriptions: OpenSubscriptions): Subscriptions {
    this.#listeners = subscriptions.listeners;
    this.#load();
    this.#store.onChange(() => {
      if (!this.#isChanging) this.#load();
    });
    this.#store.onBeat(() => void this.#beat());
    this.#join();
    return {
      ...subscriptions,
      get retries() {
        return subscriptions.retries;
      },
      create: (record, requester) => this.#change(() => subscriptions.create(record, requester)),
      change: (id, change) => this.#change(() => subscriptions.change(id, change)),
      suspend: (id) => this.#change(() => subscriptions.suspend(id)),
      resume: (id) => this.#change(() => subscriptions.resume(id)),
      // A stream ends with the connection of this replica.
      remove: (id) =>
        subscriptions.find(id)?.kind === 'stream'
          ? subscriptions.remove(id)
          : this.#change(() => subscriptions.remove(id)),
      setRetries: (change) => this.#change(() => subscriptions.setRetries(change)),
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#storePositions().catch(() => undefined);
    this.#stop();
    this.#ticket?.leave();
  }

  /** Runs one change at a time. */
  #change<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    const result = this.#last.then(() => this.#changeNow(work));
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #changeNow<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
      await this.#store.sync();
      this.#load();
      const before = this.#content;
      let isStored = false;
      this.#isChanging = true;
      try {
        const result = await work();
        isStored = this.#content === before || (await this.#commit());
        if (isStored) return result;
      } finally {
        this.#isChanging = false;
        if (!isStored) this.#content = before;
        this.#load();
        this.#listeners?.reload();
      }
    }
    throw new StoreUnavailable('changing subscriptions: other replicas change them at the same time');
  }

  /** @returns false if another replica was faster. */
  #commit(): Promise<boolean> {
    return this.#store.commit([{ kind: KIND, id: ID, expected: this.#revision, value: this.#content }]);
  }

  /** Outside of a request, the delivery itself has changed a listener. This is stored in the background. */
  #update(change: (state: SubscriptionsState) => SubscriptionsState): void {
    if (this.#isChanging) {
      this.#content = change(this.#content);
      return;
    }
    this.#content = change(this.#content);
    this.#change(() => this.#update(change)).catch((error: unknown) => {
      this.#log.warn('storing the subscriptions failed', { error });
    });
  }

  #load(): void {
    this.#loadContent();
    const { value } = this.#store.get(KIND, FAILING) ?? { value: [] };
    this.#listeners?.setFailing(new Set(texts.safeParse(value).data));
  }

  #loadContent(): void {
    const entry = this.#store.get(KIND, ID);
    if (entry?.revision === this.#revision || (entry === undefined && this.#revision === 0)) return;
    this.#revision = entry?.revision ?? 0;
    if (entry === undefined) {
      // The store has lost its content. This replica still has it.
      this.#commit().catch((error: unknown) => this.#log.warn('storing the subscriptions failed', { error }));
      return;
    }
    const parsed = subscriptionsState.safeParse(entry.value);
    if (!parsed.success) this.#log.warn('ignoring the subscriptions in the shared store: their form is unknown');
    this.#content = parsed.data ?? this.#content;
    this.#listeners?.reload();
  }

  /** Waits until no other replica delivers. */
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
    const words = texts.parse(await this.#store.run(readScript, [POSITIONS], []));
    const positions = new Map<string, string>();
    for (let index = 0; index + 1 < words.length; index += 2) positions.set(words[index] ?? '', words[index + 1] ?? '');
    await ticket.check();
    if (this.#isClosed) return;
    this.#isDelivering = true;
    this.#listeners?.deliver(positions);
  }

  /** Stores what has been delivered, and stops if another replica may deliver. */
  async #beat(): Promise<void> {
    if (this.#isBeating || this.#isClosed) return;
    this.#isBeating = true;
    try {
      if (this.#ticket === undefined) this.#join();
      else if (this.#isDelivering) {
        await this.#check();
        await this.#storePositions();
        await this.#storeFailing();
      }
    } catch {
      // The next beat tries again.
    } finally {
      this.#isBeating = false;
    }
  }

  /** Stops all deliveries if another replica may deliver. A failed attempt must not end a subscription. */
  async #check(): Promise<void> {
    const ticket = this.#ticket;
    try {
      await ticket?.check();
    } catch (error) {
      if (this.#ticket === ticket) {
        this.#stop();
        ticket?.leave();
        this.#ticket = undefined;
      }
      throw error;
    }
  }

  async #storePositions(): Promise<void> {
    if (!this.#isDelivering || this.#listeners === undefined) return;
    const words = [...this.#listeners.positions()].flat();
    const text = words.join(' ');
    if (text === this.#positions) return;
    await this.#store.run(storeScript, [POSITIONS], words);
    this.#positions = text;
  }

  async #storeFailing(): Promise<void> {
    const value = (this.#listeners?.list() ?? []).filter(({ failing }) => failing).map(({ record }) => record.id);
    if (isDeepStrictEqual(value, this.#store.get(KIND, FAILING)?.value ?? [])) return;
    await this.#store.commit([{ kind: KIND, id: FAILING, value }]);
  }

  #stop(): void {
    this.#isDelivering = false;
    this.#positions = '';
    this.#listeners?.close();
  }
}
