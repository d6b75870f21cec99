/** Delivers payloads to one listener: in order, one at a time, with the retries of its policy. */
import type { EventPost, Listener } from './event-post.js';
import type { PayloadQueue } from './payload-queue.js';

/** DMTF's DeliveryRetryPolicy. */
export const deliveryRetryPolicies = [
  'TerminateAfterRetries',
  'SuspendRetries',
  'RetryForever',
  'RetryForeverWithBackoff',
] as const;
type DeliveryRetryPolicy = (typeof deliveryRetryPolicies)[number];

/** The retry settings of the EventService, for all subscriptions. */
interface RetrySettings {
  /** Attempts after the first one, before the policy decides about the subscription. */
  readonly attempts: number;
  readonly intervalMs: number;
}

interface PushDeliveryOptions {
  /** The queue. Its owner adds payloads and then calls {@link PushDelivery.notify}. */
  readonly queue: PayloadQueue;
  readonly post: EventPost;
  /** Returns the current value, because clients may change it. So do `context`, `policy` and `retries`. */
  readonly listener: () => Listener;
  readonly context: () => string | null;
  readonly policy: () => DeliveryRetryPolicy;
  readonly retries: () => RetrySettings;
  /** Called when the listener starts or stops accepting payloads; null: it accepts them. */
  readonly onHealth: (failure: Error | null) => void;
  /** Called when the policy stops the delivery: permanently, or until a client resumes it. */
  readonly onStopped: (outcome: 'terminate' | 'suspend') => void;
}

/** Maximum pause of RetryForeverWithBackoff, unless the interval itself is longer. */
const MAX_PAUSE_MS = 3_600_000;

/** Delivers the queued payloads of one subscription, one after the other, with retries. */
export class PushDelivery {
  readonly #options: PushDeliveryOptions;
  readonly #closing = new AbortController();
  #running = false;
  #suspended = false;
  /** Failed attempts since the last success or since a client resumed the delivery. */
  #failed = 0;
  #isHealthy = true;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: PushDeliveryOptions) {
    this.#options = options;
  }

  /**
   * Sends the payloads of the queue, unless the delivery is suspended, waits for a retry or already runs.
   * Call this after payloads were added.
   */
  notify(): void {
    this.#pump();
  }

  /**
   * Stops sending after the current payload. The queue continues to store new payloads, up to its
   * limit.
   */
  suspend(): void {
    this.#suspended = true;
    this.#stopWaiting();
  }

  /** Resumes sending at once, without the pause of a retry. Counts failed attempts from 0 again. */
  resume(): void {
    this.#suspended = false;
    this.#failed = 0;
    this.#stopWaiting();
    this.#pump();
  }

  /** Aborts the current delivery and sends nothing more. */
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
    // Starts in the next turn of the event loop, not inside `publish`. So the publisher does not
    // wait for rendering, and events of the same turn share one payload.
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
      payload.markDelivered();
      if (!this.#isHealthy) onHealth(null);
      this.#isHealthy = true;
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
    const { onHealth, onStopped, policy, retries } = this.#options;
    if (this.#isHealthy) onHealth(error);
    this.#isHealthy = false;
    // A client has suspended the delivery meanwhile. So the failure does not count, and needs no
    // retry.
    if (this.#suspended) return;
    this.#failed += 1;
    const { attempts, intervalMs } = retries();
    const isOver = this.#failed > attempts;
    const currentPolicy = policy();
    if (isOver && currentPolicy === 'TerminateAfterRetries') {
      onStopped('terminate');
      return;
    }
    if (isOver && currentPolicy === 'SuspendRetries') {
      this.suspend();
      onStopped('suspend');
      return;
    }
    const doublings = currentPolicy === 'RetryForeverWithBackoff' ? Math.min(30, this.#failed - 1) : 0;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#pump();
      },
      Math.min(Math.max(MAX_PAUSE_MS, intervalMs), intervalMs * 2 ** doublings),
    );
    this.#timer.unref();
  }
}
