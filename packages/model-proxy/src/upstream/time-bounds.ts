/**
 * Time bounds for many requests at the price of one timer. A timer per chunk costs more than the rest of what is done with the
 * chunk; here a chunk stores one number, and a tick looks at all requests that are under way.
 */

import { InFlight, type Tracked } from '../in-flight.js';

/** Whatever has a bound that may pass. */
export interface Bounded extends Tracked {
  /** @param now the clock's time, in milliseconds. */
  check(now: number): void;
}

/** Bounds pass up to this much late, never early; in milliseconds. */
const TICK_MS = 50;

/** A tick that is late by more than this was held up by this process: that is no fault of an upstream. */
const MAX_STEP_MS = 4 * TICK_MS;

/** A clock that moves in steps and only while somebody is watched. Owns a timer while it does; nothing needs closing. */
export class BoundsClock {
  readonly #watched = new InFlight<Bounded>();
  #timer: NodeJS.Timeout | undefined;
  #real = 0;

  /**
   * Milliseconds from no particular start, at most a tick old. Not to be set: a plain member, as it is read for every chunk of
   * every stream.
   */
  now = 0;

  /** Watches until {@link remove}. */
  add(bounded: Bounded): void {
    this.#watched.add(bounded);
    if (this.#timer !== undefined) return;
    this.#real = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  remove(bounded: Bounded): void {
    this.#watched.delete(bounded);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    const real = performance.now();
    this.now += Math.min(real - this.#real, MAX_STEP_MS);
    this.#real = real;
    // Sockets are read first: after a late tick, they hold what upstreams sent while this process was held up.
    setImmediate(() => this.#check());
  }

  #check(): void {
    // What was marked between two ticks was marked up to a tick too early: the bound is moved by as much.
    for (const bounded of this.#watched.list()) bounded.check(this.now - TICK_MS);
  }
}

/** One time limit by a {@link BoundsClock}. Begins when it is constructed; its owner stops it. */
export class Deadline implements Bounded {
  inFlightIndex = -1;
  readonly #clock: BoundsClock;
  readonly #limitMs: number;
  readonly #onPassed: () => void;
  #startedAt: number;

  /** @param onPassed called once, unless {@link stop} comes first. */
  constructor(clock: BoundsClock, limitMs: number, onPassed: () => void) {
    this.#clock = clock;
    this.#limitMs = limitMs;
    this.#onPassed = onPassed;
    // Before the clock is read: a clock that nobody used stands still.
    clock.add(this);
    this.#startedAt = clock.now;
  }

  /** Gives the whole limit again. */
  restart(): void {
    this.#startedAt = this.#clock.now;
  }

  stop(): void {
    this.#clock.remove(this);
  }

  check(now: number): void {
    if (this.inFlightIndex === -1 || now - this.#startedAt < this.#limitMs) return;
    this.stop();
    this.#onPassed();
  }
}

/** @param limitMs null: there is no limit. */
export function deadline(clock: BoundsClock, limitMs: number | null, onPassed: () => void): Deadline | undefined {
  return limitMs === null ? undefined : new Deadline(clock, limitMs, onPassed);
}
