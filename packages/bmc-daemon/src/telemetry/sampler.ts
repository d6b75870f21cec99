/** Samples the hypervisor's counters: one sample for all machines, however many clients ask. */
import { DriverError } from '../drivers/driver-error.js';
import type { MachineStatistics, StatisticsControl } from '../drivers/statistics-control.js';

/** A machine's counters at one moment; `statistics` is null if the machine did not run. */
export interface Measurement {
  /** Wall-clock time, for people. */
  readonly at: Date;
  /** Time of the middle of the hypervisor's query, by the monotonic clock in milliseconds. */
  readonly clockMs: number;
  /** The duration of the query, which is the uncertainty of the time. */
  readonly tookMs: number;
  readonly statistics: MachineStatistics | null;
}

/** The counters of all machines at one moment. */
export interface Sample {
  readonly clockMs: number;
  measurementOf(uuid: string): Measurement;
}

interface SamplerOptions {
  readonly statistics: StatisticsControl;
  readonly now: () => Date;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
  /** `sample` returns the latest sample again while it is younger than this. */
  readonly minAgeMs: number;
}

/** Reads the statistics of all machines at once, and stores the last two samples. */
export class Sampler {
  readonly #options: SamplerOptions;
  #latest: Sample | undefined;
  #previous: Sample | undefined;
  #running: Promise<Sample> | undefined;

  constructor(options: SamplerOptions) {
    this.#options = options;
  }

  /** The last sample and the one before it, if any. Each contains all machines. */
  get last(): { readonly sample: Sample | undefined; readonly before: Sample | undefined } {
    return { sample: this.#latest, before: this.#previous };
  }

  /** Returns the latest sample if it is younger than `minAgeMs`, else a new one. Concurrent callers share one query. */
  sample(): Promise<Sample> {
    const { clock, minAgeMs } = this.#options;
    if (this.#latest !== undefined && clock() - this.#latest.clockMs < minAgeMs) return Promise.resolve(this.#latest);
    this.#running ??= this.#take().finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** Drops both samples. The schedule calls this when it has no readers. */
  forget(): void {
    this.#latest = undefined;
    this.#previous = undefined;
  }

  async #take(): Promise<Sample> {
    const { statistics, now, clock } = this.#options;
    const begun = clock();
    const all = await statistics.all();
    const tookMs = clock() - begun;
    const clockMs = begun + tookMs / 2;
    const at = new Date(now().getTime() - tookMs / 2);
    const byUuid = new Map(all.map((machine) => [machine.uuid, machine]));
    const sample: Sample = {
      clockMs,
      measurementOf: (uuid) => ({ at, clockMs, tookMs, statistics: byUuid.get(uuid) ?? null }),
    };
    this.#previous = this.#latest;
    this.#latest = sample;
    return sample;
  }
}

/**
 * Waits for a sample up to a deadline. The query continues for later callers.
 * @throws {DriverError} unavailable, at the deadline.
 */
export async function withDeadline(sampling: Promise<Sample>, ms: number): Promise<Sample> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new DriverError('unavailable', 'reading the statistics of the machines: the host takes long to answer'));
    }, ms);
  });
  try {
    return await Promise.race([sampling, late]);
  } finally {
    clearTimeout(timer);
  }
}
