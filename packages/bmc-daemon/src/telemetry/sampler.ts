/**
 * Samples the hypervisor's counters. All clients share the samples: one sample for all machines, or one
 * for each machine if the hypervisor needs a request for each machine.
 */
import { withDeadline } from '@rackless/daemon/deadline.js';
import { forEachInParallel } from '@rackless/daemon/process/parallel.js';
import { DriverError, isDriverError } from '../drivers/driver-error.js';
import type { SystemRef } from '../drivers/snapshot/system-snapshot.js';
import type { MachineStatistics, StatisticsControl } from '../drivers/statistics-control.js';

/** A machine's counters at one moment; `statistics` is null if the machine did not run, or was unknown. */
export interface Measurement {
  /** Wall-clock time, for people. */
  readonly at: Date;
  /** Time of the middle of the hypervisor's query, by the monotonic clock in milliseconds. */
  readonly clockMs: number;
  /** The duration of the query in milliseconds, which is the uncertainty of the time. */
  readonly tookMs: number;
  readonly statistics: MachineStatistics | null;
}

/** The counters of the machines of a sampler at one moment. */
export interface Sample {
  readonly clockMs: number;
  /** Returns the measurement of a machine. Its statistics are null if the machine was off or unknown. */
  measurementOf(uuid: string): Measurement;
}

interface SamplersOptions {
  readonly statistics: StatisticsControl;
  readonly now: () => Date;
  /** A monotonic clock in milliseconds. */
  readonly clock: () => number;
  /** `sample` returns the latest sample again while it is younger than this. */
  readonly minAgeMs: number;
}

interface SamplerOptions extends Omit<SamplersOptions, 'statistics'> {
  /** Reads the statistics of the machines. */
  readonly read: () => Promise<readonly MachineStatistics[]>;
}

/** Maximum number of samples that are taken at the same time. */
const MAX_SAMPLING = 4;

/** The samplers of a hypervisor. */
export class Samplers {
  readonly #options: SamplersOptions;
  readonly #ofAll: Sampler | undefined;
  readonly #ofOne = new Map<string, Sampler>();

  constructor(options: SamplersOptions) {
    this.#options = options;
    const { statistics } = options;
    if ('all' in statistics) this.#ofAll = new Sampler({ ...options, read: () => statistics.all() });
  }

  /** Returns the sampler of a machine: that of all machines, or its own. */
  of(uuid: string): Sampler {
    const known = this.#ofAll ?? this.#ofOne.get(uuid);
    if (known !== undefined) return known;
    const sampler = new Sampler({ ...this.#options, read: () => this.#readOne(uuid) });
    this.#ofOne.set(uuid, sampler);
    return sampler;
  }

  /**
   * Takes samples of machines, a few at the same time. Machines of one sampler share a sample.
   * @param use receives each machine and its sample.
   * @throws the first failure, after it has tried to take all samples.
   */
  async sampleAll(machines: readonly SystemRef[], use: (machine: SystemRef, sample: Sample) => void): Promise<void> {
    const shares = new Map<Sampler, SystemRef[]>();
    for (const machine of machines) {
      const sampler = this.of(machine.uuid);
      const share = shares.get(sampler);
      if (share === undefined) shares.set(sampler, [machine]);
      else share.push(machine);
    }
    const failures: unknown[] = [];
    await forEachInParallel(shares, MAX_SAMPLING, async ([sampler, share]) => {
      try {
        const sample = await sampler.sample();
        for (const machine of share) use(machine, sample);
      } catch (error) {
        failures.push(error);
      }
    });
    if (failures.length > 0) throw failures[0];
  }

  /** Drops the samples of a machine that was removed. Does nothing if all machines share their samples. */
  remove(uuid: string): void {
    this.#ofOne.delete(uuid);
  }

  /** Drops all samples. The schedule calls this when it has no readers. */
  forget(): void {
    this.#ofAll?.forget();
    this.#ofOne.clear();
  }

  async #readOne(uuid: string): Promise<readonly MachineStatistics[]> {
    const { statistics } = this.#options;
    if ('all' in statistics) return await statistics.all();
    try {
      const found = await statistics.of(uuid);
      return found === null ? [] : [found];
    } catch (error) {
      // The machine was removed after the caller had listed the machines. It has no statistics.
      if (isDriverError(error, 'notFound')) return [];
      throw error;
    }
  }
}

/** Reads the statistics of all its machines together, and stores the two latest samples. */
class Sampler {
  readonly #options: SamplerOptions;
  #latest: Sample | undefined;
  #previous: Sample | undefined;
  #running: Promise<Sample> | undefined;

  constructor(options: SamplerOptions) {
    this.#options = options;
  }

  /** The latest sample and the sample before it, if any. */
  get last(): { readonly sample: Sample | undefined; readonly before: Sample | undefined } {
    return { sample: this.#latest, before: this.#previous };
  }

  /**
   * Returns the latest sample if it is younger than `minAgeMs`, else a new one. Concurrent callers
   * share one query.
   * @throws the errors of `read`.
   */
  sample(): Promise<Sample> {
    const { clock, minAgeMs } = this.#options;
    if (this.#latest !== undefined && clock() - this.#latest.clockMs < minAgeMs) return Promise.resolve(this.#latest);
    this.#running ??= this.#take().finally(() => (this.#running = undefined));
    return this.#running;
  }

  /** Drops both samples. */
  forget(): void {
    this.#latest = undefined;
    this.#previous = undefined;
  }

  async #take(): Promise<Sample> {
    const { read, now, clock } = this.#options;
    const begun = clock();
    const all = await read();
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
 * @throws {DriverError} unavailable, at the deadline. If the query fails earlier, the error of the query.
 */
export async function waitForSample(sampling: Promise<Sample>, ms: number): Promise<Sample> {
  return await withDeadline(sampling, ms, () => {
    throw new DriverError('unavailable', 'reading the statistics of the machines: the host takes long to answer');
  });
}
