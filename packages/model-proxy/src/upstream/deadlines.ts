/**
 * Checks the deadlines of many requests with a single timer. A timer for each chunk would cost more
 * than the rest of the work on the chunk. Here each chunk stores a number, and each tick checks all
 * requests in flight.
 */

import { InFlight, type Tracked } from '../in-flight.js';

/** An object with deadlines. */
export interface WithDeadlines extends Tracked {
  /** Checks the deadlines. @param now the clock's time minus a tick, in ms: a stored time may be a tick too early. */
  check(now: number): void;
}

/** Time between ticks. A deadline passes up to two ticks too late, and never too early. */
const TICK_MS = 50;

/**
 * Maximum step of the clock. If more time passes between two ticks, this process was busy. That
 * time does not count against an upstream.
 */
const MAX_STEP_MS = 4 * TICK_MS;

/** A clock that ticks only while it has objects to check. Needs no closing. */
export class DeadlineClock {
  readonly #watched = new InFlight<WithDeadlines>();
  #timer: NodeJS.Timeout | undefined;
  /** Result of `performance.now()` at the last tick, or when the clock started. */
  #lastTickAt = 0;

  /**
   * Milliseconds since an arbitrary time, at most a tick old. Do not set it. It is a plain property
   * because it is read for each chunk of each stream.
   */
  now = 0;

  /** Checks an object at each tick until {@link remove}. */
  add(item: WithDeadlines): void {
    this.#watched.add(item);
    if (this.#timer !== undefined) return;
    this.#lastTickAt = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  /** Stops the checks of an object. */
  remove(item: WithDeadlines): void {
    this.#watched.delete(item);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    const realNow = performance.now();
    this.now += Math.min(realNow - this.#lastTickAt, MAX_STEP_MS);
    this.#lastTickAt = realNow;
    // Lets Node read the sockets first. After a late tick, they contain bytes that upstreams sent
    // in time.
    setImmediate(() => this.#check());
  }

  #check(): void {
    // The times that objects stored are up to a tick too early.
    for (const item of this.#watched.list()) item.check(this.now - TICK_MS);
  }
}

/** A deadline on a {@link DeadlineClock}. It starts with the constructor, and its owner stops it. */
export class Deadline implements WithDeadlines {
  inFlightIndex = -1;
  readonly #clock: DeadlineClock;
  readonly #limitMs: number;
  readonly #onPassed: () => void;
  #startedAt: number;

  /** @param onPassed called once, unless {@link stop} is called first. */
  constructor(clock: DeadlineClock, limitMs: number, onPassed: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onPassed = onPassed;
    // Must come before the clock is read, because an unused clock does not move.
    clock.add(this);
    this.#startedAt = clock.now;
  }

  /** Restarts the time limit. */
  restart(): void {
    this.#startedAt = this.#clock.now;
  }

  /** Cancels the deadline. */
  stop(): void {
    this.#clock.remove(this);
  }

  check(now: number): void {
    if (this.inFlightIndex === -1 || now - this.#startedAt < this.#limitMs) return;
    this.stop();
    this.#onPassed();
  }
}

/** Starts a deadline. @param limitMs null: no limit, returns undefined. */
export function deadline(clock: DeadlineClock, limitMs: number | null, onPassed: () => void): Deadline | undefined {
  return limitMs === null ? undefined : new Deadline(clock, limitMs, onPassed);
}
