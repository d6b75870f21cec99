/** The delivery of payloads to one listener: in order, one at a time, again where it failed, as its policy says. */
import type { EventPost, Listener } from './event-post.js';
import type { PayloadQueue } from './payload-queue.js';

/** DMTF's DeliveryRetryPolicy. */
export const deliveryRetryPolicies = [
  'TerminateAfterRetries',
  'SuspendRetries',
  'RetryForever',
  'RetryForeverWithBackoff',
] as const;
export type DeliveryRetryPolicy = (typeof deliveryRetryPolicies)[number];

/** Of the EventService, for all its subscriptions. */
export interface RetrySettings {
  /** Further attempts after the first, before the policy says what becomes of the subscription. */
  readonly attempts: number;
  readonly intervalMs: number;
}

export interface PushDeliveryOptions {
  /** What waits; its owner puts it in, and then tells with {@link PushDelivery.notify}. */
  readonly queue: PayloadQueue;
  readonly post: EventPost;
  /** Read anew for each delivery: clients may change them. */
  readonly listener: () => Listener;
  readonly context: () => string | null;
  readonly policy: () => DeliveryRetryPolicy;
  readonly retries: () => RetrySettings;
  /** Whether the listener takes what it is sent; told when that changes, with the reason where it does not. */
  readonly onHealth: (failure: Error | null) => void;
  /** The policy says that it is over: for good, or until the client resumes it. */
  readonly onGivenUp: (end: 'terminate' | 'suspend') => void;
}

/** The longest pause of RetryForeverWithBackoff. */
const LONGEST_PAUSE_MS = 3_600_000;

export class PushDelivery {
  readonly #options: PushDeliveryOptions;
  readonly #closing = new AbortController();
  #running = false;
  #suspended = false;
  /** Attempts since the last one that went well, or since the client said to go on. */
  #failed = 0;
  #isWell = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PushDeliveryOptions) {
    this.#options = options;
  }

  /** There is something in the queue; it is sent when its turn comes. */
  notify(): void {
    this.#pump();
  }

  /** Stops sending. What comes meanwhile is kept, as far as there is room. */
  suspend(): void {
    this.#suspended = true;
    this.#stopWaiting();
  }

  /** Goes on, at once. */
  resume(): void {
    this.#suspended = false;
    this.#failed = 0;
    this.#stopWaiting();
    this.#pump();
  }

  /** Breaks off what is being sent; nothing is sent any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#closing.abort(new Error('the subscription has ended'));
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #pump(): void {
    if (this.#running || this.#suspended || this.#timer !== undefined || this.#isClosed()) return;
    if (this.#options.queue.isEmpty) return;
    this.#running = true;
    // In the next turn: who publishes is not to render payloads, and what it publishes next goes along.
    setImmediate(() => {
      void this.#send().finally(() => {
        this.#running = false;
        this.#pump();
      });
    });
  }

  async #send(): Promise<void> {
    if (this.#suspended || this.#isClosed()) return;
    const { queue, post, listener, context, onHealth } = this.#options;
    const payload = queue.take();
    try {
      await post(listener(), payload.render(context()), this.#closing.signal);
      if (!this.#isWell) onHealth(null);
      this.#isWell = true;
      this.#failed = 0;
    } catch (error) {
      if (this.#isClosed()) return;
      payload.putBack();
      this.#onFailure(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  #onFailure(error: Error): void {
    const { onHealth, onGivenUp, policy, retries } = this.#options;
    if (this.#isWell) onHealth(error);
    this.#isWell = false;
    // Suspended by a client while this was on its way: that counts for nothing, and there is nothing to wait for.
    if (this.#suspended) return;
    this.#failed += 1;
    const { attempts, intervalMs } = retries();
    const isOver = this.#failed > attempts;
    const present = policy();
    if (isOver && present === 'TerminateAfterRetries') {
      onGivenUp('terminate');
      return;
    }
    if (isOver && present === 'SuspendRetries') {
      this.suspend();
      onGivenUp('suspend');
      return;
    }
    const doublings = present === 'RetryForeverWithBackoff' ? Math.min(30, this.#failed - 1) : 0;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#pump();
      },
      Math.min(Math.max(LONGEST_PAUSE_MS, intervalMs), intervalMs * 2 ** doublings),
    );
    this.#timer.unref();
  }
}
