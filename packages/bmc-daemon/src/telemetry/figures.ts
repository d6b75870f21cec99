/** From two measurements of a machine to what its report says. */
import { metrics } from './metric-table.js';
import type { Measurement } from './sampler.js';

/** One value of a report. */
export interface Figure {
  readonly metricId: string;
  readonly value: number;
  readonly at: Date;
}

/**
 * What is known of a machine. What is not known is left out: a rate needs two measurements of one run.
 * @param before an earlier one, or none.
 */
export function figures(now: Measurement, before: Measurement | undefined): readonly Figure[] {
  const { statistics } = now;
  if (statistics === null) return [];
  const past = comparable(now, before);
  const view = {
    now: statistics,
    before: past?.statistics ?? undefined,
    seconds: past === undefined ? 0 : (now.clockMs - past.clockMs) / 1000,
  };
  return metrics.flatMap(({ id, read }) => {
    const reading = read(view);
    return reading === undefined ? [] : [{ metricId: id, value: reading.value, at: reading.at ?? now.at }];
  });
}

/** The earlier one, if it is of the same run, and of a moment that is known well enough. */
function comparable(now: Measurement, before: Measurement | undefined): Measurement | undefined {
  if (before?.statistics?.run !== now.statistics?.run) return undefined;
  const window = now.clockMs - (before?.clockMs ?? now.clockMs);
  // A host that took long for its answer tells neither when it looked at this machine nor, within that, what its rates are.
  const uncertain = (now.tookMs + (before?.tookMs ?? 0)) / 2;
  return window > 0 && uncertain <= window / 4 ? before : undefined;
}
