/** Computes the values of a machine's report from two measurements. */
import { metrics } from './metric-table.js';
import type { Measurement } from './sampler.js';

/** A value of a report. */
export interface MetricValue {
  readonly metricId: string;
  readonly value: number;
  readonly at: Date;
}

/**
 * Returns the known values of a machine. Unknown values are omitted: a rate needs two measurements
 * from the same run of the machine, which ends when the machine stops. A machine that does not run has no values.
 * @param before an earlier measurement, or none.
 */
export function metricValues(now: Measurement, before: Measurement | undefined): readonly MetricValue[] {
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

/**
 * Returns the earlier measurement if it is of the same run and its time is exact enough for a rate; otherwise
 * undefined.
 */
function comparable(now: Measurement, before: Measurement | undefined): Measurement | undefined {
  if (before?.statistics?.run !== now.statistics?.run) return undefined;
  const intervalMs = now.clockMs - (before?.clockMs ?? now.clockMs);
  // If the host was slow, the time of each machine's measurement is uncertain, and so are rates
  // over a short time.
  const uncertainMs = (now.tookMs + (before?.tookMs ?? 0)) / 2;
  return intervalMs > 0 && uncertainMs <= intervalMs / 4 ? before : undefined;
}
