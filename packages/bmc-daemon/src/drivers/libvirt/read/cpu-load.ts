/** The load of a host's CPUs, from counters of the time in which they worked and were idle. */
import { setTimeout as delay } from 'node:timers/promises';
import type { HostCpuTime } from '../../hosts-control.js';

/**
 * A shorter time between two readings gives an inaccurate load, because Linux counts in steps of 10
 * ms.
 */
const MIN_MS = 200;

/** A mean over a longer time is not the current load, so {@link CpuLoad.read} then reads twice. */
const MAX_MS = 120_000;

interface Reading {
  readonly time: HostCpuTime;
  /** Milliseconds of a monotonic clock. */
  readonly at: number;
}

/** The counters, and the share of time between two readings in which the CPUs worked. */
interface CpuUse {
  readonly time: HostCpuTime;
  /**
   * From 0 to 1; null if it is unknown, because the counters did not grow, for example after a CPU was
   * removed or the host restarted.
   */
  readonly load: number | null;
}

/**
 * Computes the load since the previous reading. If there is none, or if it is too old, reads twice. Within
 * {@link MIN_MS} of the previous reading, returns the load of that reading again.
 */
export class CpuLoad {
  readonly #now: () => number;
  #previous: Reading | undefined;
  #load: number | null = null;

  /** @param now milliseconds of a monotonic clock. Default: performance.now. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Reads the counters with `readTime`. @throws the errors of `readTime`. */
  async read(readTime: () => Promise<HostCpuTime>): Promise<CpuUse> {
    let { time, at } = await this.#reading(readTime);
    if (this.#previous === undefined || at - this.#previous.at > MAX_MS) {
      this.#previous = { time, at };
      await delay(MIN_MS);
      ({ time, at } = await this.#reading(readTime));
    }
    if (at - this.#previous.at >= MIN_MS) {
      this.#load = loadBetween(this.#previous.time, time);
      this.#previous = { time, at };
    }
    return { time, load: this.#load };
  }

  async #reading(readTime: () => Promise<HostCpuTime>): Promise<Reading> {
    return { time: await readTime(), at: this.#now() };
  }
}

function loadBetween(first: HostCpuTime, second: HostCpuTime): number | null {
  const busy = second.busySeconds - first.busySeconds;
  const idle = second.idleSeconds - first.idleSeconds;
  // The counters lose the time of a removed CPU, and begin at 0 when the host starts.
  if (busy < 0 || idle < 0 || busy + idle === 0) return null;
  return busy / (busy + idle);
}
