/**
 * Runs operations with the same key one after the other, for example the operations of one machine.
 * Operations with different keys do not wait for each other.
 */
import { DriverError } from '../driver-error.js';

/**
 * Checks that it is still the turn of the operation. An operation calls this function before each
 * write.
 * @throws {DriverError} unavailable, if another replica may run its operation now.
 */
export type TurnCheck = () => Promise<void>;

/** Runs the operations of each key one after the other. */
export interface Operations {
  /**
   * Runs the operation after all earlier operations of the key have ended.
   * @param key such as the UUID of a machine.
   * @param operation gets a check only if it can lose its turn to another replica.
   * @throws what the operation throws; the signal's reason; the reason of a cancellation; {DriverError} unavailable,
   *   if the queue closes while the operation waits.
   */
  run<Result>(key: string, operation: (check?: TurnCheck) => Promise<Result>, options?: QueueOptions): Promise<Result>;
  /** Returns whether this daemon runs an operation of the key. */
  isBusy(key: string): boolean;
  /**
   * Rejects waiting operations with the given label.
   * @param options `before`: another label. Rejects only operations in front of the first waiting operation with it.
   */
  cancelWaiting(key: string, label: string, reason: DriverError, options?: { readonly before?: string }): void;
  /** Rejects waiting operations, and resolves when the running ones have ended. */
  close(): Promise<void>;
}

/** Options of {@link Operations.run}. */
export interface QueueOptions {
  /**
   * Aborts the wait: the operation leaves the queue and rejects with the signal's reason. A running
   * operation must watch the signal itself.
   */
  readonly signal?: AbortSignal | undefined;
  /** Label for {@link Operations.cancelWaiting}. */
  readonly label?: string;
}

interface Entry {
  readonly label: string | undefined;
  readonly begin: () => void;
  readonly cancel: (reason: Error) => void;
}

/** The queue of one key. It exists while an operation of the key runs. */
interface Line {
  readonly waiting: Entry[];
}

/** A first-in first-out queue per key, in this daemon. An idle key uses no memory. */
export class OperationQueue implements Operations {
  readonly #lines = new Map<string, Line>();
  readonly #idleWaiters = new Set<() => void>();

  async run<Result>(key: string, operation: () => Promise<Result>, options: QueueOptions = {}): Promise<Result> {
    options.signal?.throwIfAborted();
    await this.#turn(key, options);
    try {
      return await operation();
    } finally {
      this.#next(key);
    }
  }

  isBusy(key: string): boolean {
    return this.#lines.has(key);
  }

  cancelWaiting(key: string, label: string, reason: Error, options: { readonly before?: string } = {}): void {
    for (const entry of [...(this.#lines.get(key)?.waiting ?? [])]) {
      if (entry.label !== undefined && entry.label === options.before) return;
      if (entry.label === label) entry.cancel(reason);
    }
  }

  async close(): Promise<void> {
    const reason = new DriverError('unavailable', 'waiting for an earlier operation: the service is shutting down');
    for (const line of this.#lines.values()) for (const entry of [...line.waiting]) entry.cancel(reason);
    if (this.#lines.size === 0) return;
    await new Promise<void>((resolve) => this.#idleWaiters.add(resolve));
  }

  #turn(key: string, { signal, label }: QueueOptions): Promise<void> | undefined {
    const line = this.#lines.get(key);
    if (line === undefined) {
      this.#lines.set(key, { waiting: [] });
      return undefined;
    }
    return new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        const position = line.waiting.indexOf(entry);
        if (position >= 0) line.waiting.splice(position, 1);
        signal?.removeEventListener('abort', onAbort);
      };
      const onAbort = (): void => entry.cancel(abortReason(signal));
      const entry: Entry = {
        label,
        begin: () => {
          leave();
          resolve();
        },
        cancel: (reason) => {
          leave();
          reject(reason);
        },
      };
      line.waiting.push(entry);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #next(key: string): void {
    const next = this.#lines.get(key)?.waiting[0];
    if (next !== undefined) {
      next.begin();
      return;
    }
    this.#lines.delete(key);
    if (this.#lines.size > 0) return;
    for (const resolve of this.#idleWaiters) resolve();
    this.#idleWaiters.clear();
  }
}

function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new Error('waiting for an earlier operation: the request was aborted');
}
