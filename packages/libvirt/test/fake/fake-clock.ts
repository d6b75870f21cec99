import type { Clock, Timer } from '../../src/clock.js';

interface Waiting {
  readonly at: number;
  readonly action: () => void;
  readonly delayMs: number;
}

/** A clock that goes on only when told. */
export class FakeClock implements Clock {
  #now = 0;
  readonly #waiting = new Set<Waiting>();
  /** The delay of every timer that was ever asked for, in order. */
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

  /** How many timers wait. */
  get pending(): number {
    return this.#waiting.size;
  }

  /** Milliseconds until each waiting timer, soonest first. */
  get upcoming(): readonly number[] {
    return [...this.#waiting].map((each) => each.at - this.#now).sort((a, b) => a - b);
  }

  /** Lets `ms` pass: timers fire in order, those included that are set meanwhile. */
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
