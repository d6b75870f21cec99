/** Samples of what the hypervisor counts: one for all machines at a time, however many ask. */
import { DriverError } from '../drivers/driver.js';
import type { MachineStatistics, StatisticsControl } from '../drivers/statistics-control.js';

/** What one machine had counted at one moment; null: it did not run. */
export interface Measurement {
  /** Wall clock, for people. */
  readonly at: Date;
  /** Steady clock, ms: the middle of the time that the hypervisor took for its answer. */
  readonly clockMs: number;
  /** How long it took: within it the moment of this machine is not known. */
  readonly tookMs: number;
  readonly statistics: MachineStatistics | null;
}

/** All machines at one moment. */
export interface Sample {
  readonly clockMs: number;
  of(uuid: string): Measurement;
}

export interface SamplerOptions {
  readonly statistics: StatisticsControl;
  readonly now: () => Date;
  /** Milliseconds of a steady clock. */
  readonly clock: () => number;
  /** A sample that is younger serves again. */
  readonly minAgeMs: number;
}

export class Sampler {
  readonly #options: SamplerOptions;
  #latest: Sample | undefined;
  #previous: Sample | undefined;
  #underWay: Promise<Sample> | undefined;

  constructor(options: SamplerOptions) {
    this.#options = options;
  }

  /** The last sample, if there is one, and the one before it. Each is of all machines, whoever asked for it. */
  get last(): { readonly sample: Sample | undefined; readonly before: Sample | undefined } {
    return { sample: this.#latest, before: this.#previous };
  }

  /** One that is as good as new. A host that is slow is asked once, and all who want to know wait for the same answer. */
  sample(): Promise<Sample> {
    const { clock, minAgeMs } = this.#options;
    if (this.#latest !== undefined && clock() - this.#latest.clockMs < minAgeMs) return Promise.resolve(this.#latest);
    this.#underWay ??= this.#take().finally(() => (this.#underWay = undefined));
    return this.#underWay;
  }

  /** Lets go of what nobody has looked at for long. */
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
      of: (uuid) => ({ at, clockMs, tookMs, statistics: byUuid.get(uuid) ?? null }),
    };
    this.#previous = this.#latest;
    this.#latest = sample;
    return sample;
  }
}

/**
 * Waits for a sample, but not for longer than this; what goes on then goes on for the next who asks.
 * @throws {DriverError} unavailable, after so long.
 */
export async function within(sampling: Promise<Sample>, ms: number): Promise<Sample> {
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
