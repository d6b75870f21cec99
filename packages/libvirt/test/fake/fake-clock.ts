import type { Clock, Timer } from '../../src/clock.js';

interface WaitingTimer {
  readonly at: number;
  readonly action: () => void;
  readonly delayMs: number;
}

/** A clock that stands still until a test calls `advance`. */
export class FakeClock implements Clock {
  #now = 0;
  readonly #waiting = new Set<WaitingTimer>();
  /** Delays of all timers that were started, in order. */
  readonly delays: number[] = [];

  now(): number {
    return this.#now;
  }

  after(delayMs: number, action: () => void): Timer {
    const waiting = { at: this.#now + delayMs, action, delayMs };
    this.delays.push(delayMs);
    this.#waiting.add(waiting);
    return { cancel: () => void this.#waiting.delete(waiting) };
  }

  /** Number of running timers. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Remaining milliseconds of each running timer, sorted. */
  get upcoming(): readonly number[] {
    return [...this.#waiting].map((each) => each.at - this.#now).sort((a, b) => a - b);
  }

  /** Advances the time. All timers that are due by then fire in order, also those that an action starts. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const next = [...this.#waiting].filter((each) => each.at <= end).sort((a, b) => a.at - b.at)[0];
      if (next === undefined) break;
      this.#waiting.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.action();
    }
    this.#now = end;
  }
}
