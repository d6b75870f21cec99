/** The listeners of events: they are stored across restarts, and receive POST requests. */
import { randomUUID } from 'node:crypto';
import type { Log } from '@rackless/daemon/log/log.js';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import type { ReportMessage, ReportSource } from '../../offers/report-source.js';
import type { StateFile } from '../../state-file.js';
import type { EventFeed } from '../event-feed.js';
import { createFilter } from '../event-filter.js';
import type { EventPost } from './event-post.js';
import type { FeedEvent } from '../event-record.js';
import { eventsOf, reportsOf } from '../machine-filter.js';
import { EventQueue, ReportQueue, type PayloadQueue } from './payload-queue.js';
import { PushDelivery } from './push-delivery.js';
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
  /** Maximum number of events that wait for one listener. */
  readonly backlog: number;
  /** Called after each change of the list or of a listener. */
  readonly onChange: () => void;
  /** Publishes that the service has suspended or removed a listener. */
  readonly publish: (change: ListenerChange, id: string) => void;
}

/** A listener with its running delivery. */
interface Push {
  subscription: PushSubscription;
  readonly delivery: PushDelivery;
  readonly unsubscribe: () => void;
}

/** All listeners. */
export class PushListeners {
  readonly #options: PushListenersOptions;
  readonly #pushes = new Map<string, Push>();

  /** Starts the stored listeners. */
  constructor(options: PushListenersOptions) {
    this.#options = options;
    for (const record of options.state.state.subscriptions) this.#start(record);
  }

  list(): readonly PushSubscription[] {
    return [...this.#pushes.values()].map(({ subscription }) => subscription);
  }

  find(id: string): PushSubscription | undefined {
    return this.#pushes.get(id)?.subscription;
  }

  /** @throws {StateFileError} */
  create(record: NewSubscription): PushSubscription {
    const push = this.#start({ machine: null, ...record, id: randomUUID(), suspended: false });
    try {
      this.#store();
    } catch (error) {
      this.#stop(push);
      throw error;
    }
    return push.subscription;
  }

  /** @throws {RedfishError} PayloadTooLarge. @throws {StateFileError} */
  change(id: string, change: PushChange): void {
    const push = this.#pushes.get(id);
    if (push === undefined) return;
    checkSize({ ...push.subscription.record, ...change });
    this.#update(push, change);
  }

  /** @throws {StateFileError} */
  suspend(id: string): void {
    const push = this.#pushes.get(id);
    if (push === undefined) return;
    this.#update(push, { suspended: true });
    push.delivery.suspend();
  }

  /** @throws {StateFileError} */
  resume(id: string): void {
    const push = this.#pushes.get(id);
    if (push === undefined) return;
    this.#update(push, { suspended: false });
    push.delivery.resume();
  }

  /** @returns false if it does not exist. @throws {StateFileError} */
  remove(id: string): boolean {
    const push = this.#pushes.get(id);
    if (push === undefined) return false;
    // Update the file first: if this fails, the subscription continues.
    this.#store(id);
    this.#stop(push);
    return true;
  }

  /** Stops all deliveries. */
  close(): void {
    for (const { delivery, unsubscribe } of this.#pushes.values()) {
      unsubscribe();
      delivery.close();
    }
  }

  #start(record: PushRecord): Push {
    const { queue, listen } = queueOf(record, this.#options);
    const delivery = this.#deliver(record, queue);
    if (record.suspended) delivery.suspend();
    const unsubscribe = listen(() => delivery.notify());
    const push: Push = { subscription: { kind: 'push', record, failing: false }, delivery, unsubscribe };
    this.#pushes.set(record.id, push);
    this.#options.onChange();
    return push;
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
        log.warn(`events are no longer delivered to ${shown}: ${outcome}`, { subscription: id });
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
      // The delivery ends although the file does not say so. After a restart, it starts again.
      log.warn('storing the subscriptions failed', { error });
      if (outcome === 'terminate') this.#stop(push);
      else this.#set(push, { ...subscription, record: { ...subscription.record, suspended: true } });
    }
    publish(outcome === 'terminate' ? 'ResourceRemoved' : 'ResourceChanged', id);
  }

  /**
   * Stores all listeners.
   * @param without a subscription that is about to end.
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

  /** Stores a change. If this fails, nothing changes. */
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
    push.unsubscribe();
    push.delivery.close();
    this.#pushes.delete(push.subscription.record.id);
    this.#options.onChange();
  }
}

/** The queue of a listener, and the source that fills it. */
interface QueueWithSource {
  readonly queue: PayloadQueue;
  /** Begins to fill the queue. @returns a function that stops that. */
  readonly listen: (notify: () => void) => () => void;
}

function queueOf(record: PushRecord, { feed, reports, backlog }: PushListenersOptions): QueueWithSource {
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
  return { queue, listen };
}

function eventQueue({ machine, wanted }: PushRecord, feed: EventFeed, backlog: number): QueueWithSource {
  const queue = new EventQueue(feed, backlog);
  const listen = (notify: () => void): (() => void) => {
    const deliver = (event: FeedEvent): void => {
      queue.push(event);
      notify();
    };
    return feed.add({ wants: eventsOf(machine, createFilter(wanted)), deliver });
  };
  return { queue, listen };
}
