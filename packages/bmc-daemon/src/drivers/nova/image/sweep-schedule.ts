/**
 * Runs the sweeps of unused images one after the other: after events, regularly, and again after a sweep
 * that is not complete.
 */
import type { Log } from '@rackless/daemon/log/log.js';

/** Result of a sweep that did not fail. */
export interface SweepResult {
  /**
   * Whether an image changed during the sweep. Another sweep must then decide whether to delete it.
   */
  readonly isDisturbed: boolean;
  /** Time until the lease of an image ends first, in milliseconds; undefined if no image has a lease. */
  readonly leasedForMs: number | undefined;
}

/**
 * Pauses before another sweep, after one that was not complete. The pause grows with each incomplete
 * sweep since the last complete one, up to {@link MAX_PAUSE_MS}.
 */
const pauses = {
  /** The cloud may be down for hours, and each sweep makes up to six requests, so the first pause is long. */
  failed: { firstMs: 30_000, growth: 2 },
  /** Other daemons mark an image only for a moment, so the first pause is short. */
  disturbed: { firstMs: 1000, growth: 4 },
};
const MAX_PAUSE_MS = 600_000;
/**
 * Pause after a complete sweep. No event reports the unused images of these cases: another daemon was killed
 * during an upload, or Glance created an image and its answer was lost.
 */
const PERIOD_MS = 600_000;
/** Additional time, because the clocks of daemons differ. */
const LEASE_TOLERANCE_MS = 1000;

/** The sweeps of one cloud. Close it with the driver. */
export class SweepSchedule {
  readonly #sweep: () => Promise<SweepResult>;
  readonly #log: Log;
  #running: Promise<void> | undefined;
  /** The sweep that follows the running one. */
  #following: Promise<void> | undefined;
  /** Number of incomplete sweeps since the last complete one. */
  #incomplete = 0;
  #next: { readonly timer: NodeJS.Timeout; readonly at: number } | undefined;
  #isClosed = false;

  constructor(sweep: () => Promise<SweepResult>, log: Log) {
    this.#sweep = sweep;
    this.#log = log;
  }

  /**
   * Runs a sweep. If a sweep runs already, another one begins after it, because the running one may
   * have read the servers before this call. All callers that wait share this next sweep. Never
   * rejects: after a failure, it logs the reason and plans another sweep.
   */
  async run(): Promise<void> {
    if (this.#isClosed) return;
    if (this.#running === undefined && this.#following === undefined) {
      await this.#begin();
      return;
    }
    this.#following ??= (this.#running ?? Promise.resolve()).then(() => {
      this.#following = undefined;
      return this.#isClosed ? undefined : this.#begin();
    });
    await this.#following;
  }

  /** Runs a sweep soon, unless another one begins earlier. */
  soon(): void {
    this.#runAfter(0);
  }

  /** Cancels the next sweep. A running one continues. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#next?.timer);
  }

  #begin(): Promise<void> {
    // This sweep makes the planned one unnecessary.
    clearTimeout(this.#next?.timer);
    this.#next = undefined;
    const running = this.#sweepAndPlan().finally(() => {
      this.#running = undefined;
    });
    this.#running = running;
    return running;
  }

  async #sweepAndPlan(): Promise<void> {
    try {
      const { isDisturbed, leasedForMs } = await this.#sweep();
      if (leasedForMs !== undefined) this.#runAfter(leasedForMs + LEASE_TOLERANCE_MS);
      if (isDisturbed) this.#planRepetition('disturbed');
      else {
        this.#incomplete = 0;
        this.#runAfter(PERIOD_MS);
      }
    } catch (error) {
      if (this.#isClosed) return;
      const isFirst = this.#incomplete === 0;
      this.#log[isFirst ? 'warn' : 'debug']('deleting unused images of the cloud failed', { error });
      this.#planRepetition('failed');
    }
  }

  #planRepetition(why: keyof typeof pauses): void {
    const { firstMs, growth } = pauses[why];
    this.#runAfter(Math.min(MAX_PAUSE_MS, firstMs * growth ** this.#incomplete));
    this.#incomplete += 1;
  }

  #runAfter(delayMs: number): void {
    const at = performance.now() + delayMs;
    if (this.#isClosed || (this.#next !== undefined && this.#next.at <= at)) return;
    clearTimeout(this.#next?.timer);
    this.#next = { timer: setTimeout(() => void this.run(), delayMs).unref(), at };
  }
}
