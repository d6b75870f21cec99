/** Operations of one machine, one after the other. Machines do not wait for each other. */
import { DriverError } from './driver.js';

/** How an operation waits for its turn. */
export interface QueueOptions {
  /** Leaves the queue when it aborts, with the signal's reason. An operation that has begun watches the signal itself. */
  readonly signal?: AbortSignal | undefined;
  /** What {@link OperationQueue.cancelWaiting} knows the operation by. */
  readonly label?: string;
}

interface Entry {
  readonly label: string | undefined;
  readonly begin: () => void;
  readonly cancel: (reason: Error) => void;
}

interface Line {
  readonly waiting: Entry[];
}

/** A first-in first-out queue per key. A key that nothing waits for costs no memory. */
export class OperationQueue {
  readonly #lines = new Map<string, Line>();
  readonly #idleWaiters = new Set<() => void>();

  /**
   * Runs the operation once all earlier ones of the key have ended, however they ended.
   * @throws whatever the operation throws; the signal's reason; the reason of a cancellation.
   */
  async run<Result>(key: string, operation: () => Promise<Result>, options: QueueOptions = {}): Promise<Result> {
    options.signal?.throwIfAborted();
    await this.#turn(key, options);
    try {
      return await operation();
    } finally {
      this.#next(key);
    }
  }

  /** True while an operation of the key runs. */
  isBusy(key: string): boolean {
    return this.#lines.has(key);
  }

  /**
   * Rejects the operations with this label that have not begun.
   * @param options `before`: only those that wait in front of the first one with that label.
   */
  cancelWaiting(key: string, label: string, reason: Error, options: { readonly before?: string } = {}): void {
    for (const entry of [...(this.#lines.get(key)?.waiting ?? [])]) {
      if (entry.label !== undefined && entry.label === options.before) return;
      if (entry.label === label) entry.cancel(reason);
    }
  }

  /** Rejects everything that waits, and resolves when what runs has ended. */
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
