/** The values of a machine's metric reports, kept in memory while the web page is open. */

/** A MetricReport of Redfish. */
export interface MetricReport {
  readonly Timestamp: string;
  readonly MetricValues: readonly { readonly MetricId: string; readonly MetricValue: string | null }[];
}

/** The values at one time; null: unknown. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Percent of all processors of the machine. */
  readonly processor: number | null;
  /** Percent of the memory of the machine. */
  readonly memory: number | null;
  /** Bytes per second, as the next three members. */
  readonly diskRead: number | null;
  readonly diskWritten: number | null;
  readonly received: number | null;
  readonly sent: number | null;
}

/** Samples of 2 hours, if there is one every 5 s. */
const MAX_SAMPLES = 1440;

/**
 * Returns the samples and, as the last one, the sample of a newer report. Drops the oldest sample above
 * `MAX_SAMPLES`. A report that is not newer changes nothing.
 */
export function extend(samples: readonly Sample[], report: MetricReport): readonly Sample[] {
  const time = Date.parse(report.Timestamp);
  if (time <= (samples.at(-1)?.time ?? 0)) return samples;
  const valueOf = (id: string): number | null => {
    const text = report.MetricValues.find(({ MetricId }) => MetricId === id)?.MetricValue ?? null;
    return text === null ? null : Number(text);
  };
  const sample = {
    time,
    processor: valueOf('CPUUtilization'),
    memory: valueOf('MemoryUtilization'),
    diskRead: valueOf('DiskReadRate'),
    diskWritten: valueOf('DiskWriteRate'),
    received: valueOf('NetworkReceiveRate'),
    sent: valueOf('NetworkTransmitRate'),
  };
  return [...samples, sample].slice(-MAX_SAMPLES);
}
