/** The listeners of events: they are stored across restarts, and receive POST requests. */
import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Log } from '@rackless/daemon/log/log.js';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import type { ReportSource } from '../../offers/report-source.js';
import type { StateFile } from '../../state-file.js';
import type { EventFeed } from '../event-feed.js';
import type { EventPost } from './event-post.js';
import type { PayloadQueue } from './payload-queue.js';
import { PushDelivery } from './push-delivery.js';
import { createQueue } from './push-queues.js';
import {
  checkSize,
  type NewSubscription,
  type PushChange,
  type PushRecord,
  type PushSubscription,
  type SubscriptionsState,
} from './subscription.js';

/** The event about a listener, if the service itself has changed or removed the listener. */
type ListenerChange = 'ResourceChanged' | 'ResourceRemoved';

/** Options of {@link PushListeners}. */
interface PushListenersOptions {
  readonly feed: EventFeed;
  /** The source of metric reports; null without telemetry. */
  readonly reports: ReportSource | null;
  readonly state: StateFile<SubscriptionsState>;
  readonly post: EventPost;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /**
   * Whether several replicas have these listeners. A replica then delivers only after a call of
   * {@link PushListeners.deliver}.
   */
  readonly isShared: boolean;
  /** Maximum number of events that wait for one listener. */
  readonly backlog: number;
  /** Called after each change of the list or of a listener. */
  readonly onChange: () => void;
  /** Publishes that the service has suspended or removed a listener. */
  readonly publish: (change: ListenerChange, id: string) => void;
}

/** A running delivery. */
interface RunningDelivery {
  readonly delivery: PushDelivery;
  readonly unsubscribe: () => void;
  readonly position: () => string | undefined;
}

/** A listener. Its delivery runs if this replica delivers. */
interface Push {
  subscription: PushSubscription;
  running: RunningDelivery | undefined;
}

/** All listeners: the subscriptions that receive events or metric reports by POST. */
export class PushListeners {
  readonly #options: PushListenersOptions;
  readonly #pushes = new Map<string, Push>();
  #isDelivering: boolean;

  /** Adds the stored listeners, and starts their deliveries unless the listeners are shared. */
  constructor(options: PushListenersOptions) {
    this.#options = options;
    this.#isDelivering = !options.isShared;
    for (const record of options.state.state.subscriptions) this.#start(record);
  }

  list(): readonly PushSubscription[] {
    return [...this.#pushes.values()].map(({ subscription }) => subscription);
  }

  find(id: string): PushSubscription | undefined {
    return this.#pushes.get(id)?.subscription;
  }

  /** Stores a listener. If this replica delivers, starts its delivery. @throws {StateFileError} */
  create(record: NewSubscription): PushSubscription {
    const { isShared, feed } = this.#options;
    const after = isShared ? { after: feed.idBefore(undefined) } : {};
    const push = this.#start({ machine: null, ...record, ...after, id: randomUUID(), suspended: false });
    try {
      this.#store();
    } catch (error) {
      this.#stop(push);
      throw error;
    }
    return push.subscription;
  }

  /**
   * Changes a listener. Ignores an unknown id, as {@link suspend} and {@link resume} do.
   * @throws {RedfishError} PayloadTooLarge.
   * @throws {StateFileError}
   */
  change(id: string, change: PushChange): void {
    const push = this.#pushes.get(id);
    if (push === undefined) return;
    checkSize({ ...push.subscription.record, ...change });
    this.#update(push, change);
  }

  /** Suspends the delivery to a listener until {@link resume}. @throws {StateFileError} */
  suspend(id: string): void {
    const push = this.#pushes.get(id);
    if (push === undefined) return;
    this.#update(push, { suspended: true });
    push.running?.delivery.suspend();
  }

  /** Resumes a suspended delivery. @throws {StateFileError} */
  resume(id: string): void {
    const push = this.#pushes.get(id);
    if (push === undefined) return;
    this.#update(push, { suspended: false });
    push.running?.delivery.resume();
  }

  /** Removes a listener. @returns false if it does not exist. @throws {StateFileError} */
  remove(id: string): boolean {
    const push = this.#pushes.get(id);
    if (push === undefined) return false;
    // Updates the file first. If this fails, the subscription continues.
    this.#store(id);
    this.#stop(push);
    return true;
  }

  /** Starts all deliveries. @param positions the ids of the last delivered events, by listener. */
  deliver(positions: ReadonlyMap<string, string>): void {
    this.#isDelivering = true;
    for (const push of this.#pushes.values()) {
      this.#set(push, { ...push.subscription, failing: false });
      this.#run(push, positions.get(push.subscription.record.id));
    }
  }

  /**
   * Sets the listeners that do not accept events, as the delivering replica sees them. Does nothing while this
   * replica delivers.
   */
  setFailing(ids: ReadonlySet<string>): void {
    if (this.#isDelivering) return;
    for (const [id, push] of this.#pushes)
      if (push.subscription.failing !== ids.has(id)) this.#set(push, { ...push.subscription, failing: ids.has(id) });
  }

  /** Stops all deliveries. */
  close(): void {
    this.#isDelivering = false;
    for (const push of this.#pushes.values()) halt(push);
  }

  /** Returns the ids of the last delivered events, by listener. */
  positions(): ReadonlyMap<string, string> {
    const known = [...this.#pushes].map(([id, { running }]) => [id, running?.position()] as const);
    return new Map(known.flatMap(([id, position]) => (position === undefined ? [] : [[id, position] as const])));
  }

  /** Applies the changes that other replicas have made to the state. */
  reload(): void {
    const records = new Map(this.#options.state.state.subscriptions.map((record) => [record.id, record]));
    for (const [id, push] of this.#pushes) if (!records.has(id)) this.#stop(push);
    for (const record of records.values()) {
      const push = this.#pushes.get(record.id);
      if (push === undefined) this.#start(record);
      else if (!isDeepStrictEqual(push.subscription.record, record)) {
        const { suspended } = push.subscription.record;
        this.#set(push, { ...push.subscription, record });
        if (suspended && !record.suspended) push.running?.delivery.resume();
        if (!suspended && record.suspended) push.running?.delivery.suspend();
      }
    }
  }

  #start(record: PushRecord): Push {
    const push: Push = { subscription: { kind: 'push', record, failing: false }, running: undefined };
    this.#pushes.set(record.id, push);
    if (this.#isDelivering) this.#run(push, record.after);
    this.#options.onChange();
    return push;
  }

  /** Runs the delivery of a listener. @param after the id of the last delivered event; undefined: that of the record. */
  #run(push: Push, after: string | undefined): void {
    halt(push);
    const { record } = push.subscription;
    const { queue, listen, position } = createQueue(record, this.#options);
    const delivery = this.#deliver(record, queue);
    if (record.suspended) delivery.suspend();
    push.running = { delivery, position, unsubscribe: listen(() => delivery.notify(), after ?? record.after) };
  }

  #deliver({ id, destination, ...others }: PushRecord, queue: PayloadQueue): PushDelivery {
    const { state, post, log } = this.#options;
    const shown = maskUrl(destination);
    /** Returns the current record, because a client may have changed it. */
    const current = (): PushRecord => this.find(id)?.record ?? { id, destination, ...others };
    return new PushDelivery({
      queue,
      post,
      listener: () => {
        const { httpHeaders, verifyCertificate } = current();
        return { url: new URL(destination), headers: httpHeaders, verifyCertificate };
      },
      context: () => current().context,
      policy: () => current().policy,
      retries: () => ({ attempts: state.state.retryAttempts, intervalMs: state.state.retryIntervalSeconds * 1000 }),
      onHealth: (failure) => {
        const push = this.#pushes.get(id);
        if (push !== undefined) this.#set(push, { ...push.subscription, failing: failure !== null });
        if (failure === null) log.info(`events are delivered again to ${shown}`, { subscription: id });
        else log.warn(`events cannot be delivered to ${shown}`, { subscription: id, error: failure });
      },
      onStopped: (outcome) => {
        const effect = outcome === 'terminate' ? 'removed' : 'suspended';
        log.warn(`events are no longer delivered to ${shown}: all retries failed, so the subscription is ${effect}`, {
          subscription: id,
        });
        this.#stopDelivery(id, outcome);
      },
    });
  }

  #stopDelivery(id: string, outcome: 'terminate' | 'suspend'): void {
    const { log, publish } = this.#options;
    const push = this.#pushes.get(id);
    if (push === undefined) return;
    const { subscription } = push;
    try {
      if (outcome === 'terminate') this.remove(id);
      else this.#update(push, { suspended: true });
    } catch (error) {
      // The delivery ends, but the file still contains the listener. So the delivery starts again
      // after a restart.
      log.warn('storing the subscriptions failed', { error });
      if (outcome === 'terminate') this.#stop(push);
      else this.#set(push, { ...subscription, record: { ...subscription.record, suspended: true } });
    }
    publish(outcome === 'terminate' ? 'ResourceRemoved' : 'ResourceChanged', id);
  }

  /**
   * Stores all listeners.
   * @param without the id of a listener that is about to end. It is not stored.
   */
  #store(without?: string): void {
    this.#options.state.update((stored) => ({
      ...stored,
      subscriptions: this.list()
        .map(({ record }) => record)
        .filter(({ id }) => id !== without),
    }));
  }

  #set(push: Push, subscription: PushSubscription): void {
    push.subscription = subscription;
    this.#options.onChange();
  }

  /** Stores a change. @throws the error of the store; then nothing changes. */
  #update(push: Push, change: Partial<PushRecord>): void {
    const before = push.subscription;
    this.#set(push, { ...before, record: { ...before.record, ...change } });
    try {
      this.#store();
    } catch (error) {
      this.#set(push, before);
      throw error;
    }
  }

  #stop(push: Push): void {
    halt(push);
    this.#pushes.delete(push.subscription.record.id);
    this.#options.onChange();
  }
}

/** Stops the delivery of a listener. */
function halt(push: Push): void {
  push.running?.unsubscribe();
  push.running?.delivery.close();
  push.running = undefined;
}
