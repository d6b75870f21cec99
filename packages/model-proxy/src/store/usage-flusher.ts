/**
 * Writes usage at an interval, by default twice a second. Writes of a store never overlap, so no request is
 * counted twice.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { withDeadline } from '@rackless/daemon/deadline.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import type { Log } from '@rackless/daemon/log/log.js';

/** Options of {@link UsageFlusher}. */
interface FlusherOptions {
  /** Writes everything that was added before the call. What it cannot write stays for the next call. */
  readonly write: () => Promise<void>;
  readonly log: Pick<Log, 'info' | 'error'>;
  /** Time between two flushes, in milliseconds. */
  readonly flushMs?: number | undefined;
  /**
   * How long {@link UsageFlusher.close} writes, and repeats writes that fail, in milliseconds. Absent: it writes once,
   * without a limit.
   */
  readonly closeMs?: number | undefined;
}

/** Default time between two flushes. A crash may lose the usage of two flushes: the last one may not be complete. */
const FLUSH_MS = 500;

/** Time between two writes of {@link UsageFlusher.close}. */
const REPEAT_MS = 250;

/** The writes of a store. */
export class UsageFlusher {
  readonly #options: FlusherOptions;
  readonly #closing = new AbortController();
  readonly #flushing: Promise<void>;
  #last: Promise<unknown> = Promise.resolve();
  /** The flush that has not started yet. */
  #next: Promise<void> | undefined;
  #hasFailed = false;
  /** Whether {@link close} has ended. The failure of a write that still runs is then not logged. */
  #isClosed = false;

  constructor(options: FlusherOptions) {
    this.#options = options;
    this.#flushing = this.#flushAlways();
  }

  /** Whether the last flush succeeded. */
  get isAvailable(): boolean {
    return !this.#hasFailed;
  }

  /**
   * Writes everything that was added before the call. Calls during a flush share the next one.
   * @throws the error of the write. What was added stays in memory.
   */
  flush(): Promise<void> {
    this.#next ??= this.run(() => {
      this.#next = undefined;
      return this.#write();
    });
    return this.#next;
  }

  /** Runs other work of the store. No flush runs meanwhile. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#last.then(work);
    this.#last = result.catch(ignored);
    return result;
  }

  /** Writes for the last time. Logs a failure. */
  async close(): Promise<void> {
    const { closeMs, log } = this.#options;
    this.#closing.abort();
    try {
      if (closeMs === undefined) await this.#writeLast(0);
      else
        await withDeadline(this.#writeLast(closeMs), closeMs, () => {
          throw new Error(`the end has waited for ${closeMs / 1000} s`);
        });
    } catch (error) {
      log.error(`the usage that is not stored is lost: ${fileReason(error)}`);
    }
    this.#isClosed = true;
  }

  /** @param repeatMs how long to repeat a write that fails. @throws the last error. */
  async #writeLast(repeatMs: number): Promise<void> {
    const lastAt = performance.now() + repeatMs - REPEAT_MS;
    await this.#flushing;
    for (;;) {
      try {
        await this.flush();
        return;
      } catch (error) {
        if (performance.now() > lastAt) throw error;
        await delay(REPEAT_MS);
      }
    }
  }

  async #flushAlways(): Promise<void> {
    const { flushMs = FLUSH_MS } = this.#options;
    const { signal } = this.#closing;
    for (;;) {
      await delay(flushMs, undefined, { ref: false, signal }).catch(ignored);
      if (signal.aborted) return;
      await this.flush().catch(ignored);
    }
  }

  /** Logs only the first of several failures. */
  async #write(): Promise<void> {
    const { write, log } = this.#options;
    try {
      await write();
      if (this.#hasFailed) log.info('the usage can be stored again');
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed && !this.#isClosed)
        log.error(`the usage cannot be stored, and stays in memory: ${fileReason(error)}`);
      this.#hasFailed = true;
      throw error;
    }
  }
}

const ignored = (): void => undefined;
