/** The values of a machine's metric reports, kept in memory while the console is open. */

/** A MetricReport of Redfish. */
export interface MetricReport {
  readonly Timestamp: string;
  readonly MetricValues: readonly { readonly MetricId: string; readonly MetricValue: string | null }[];
}

/** Values of one moment; null: unknown. */
export interface Sample {
  /** Milliseconds since 1970. */
  readonly time: number;
  /** Percent of all processors of the machine. */
  readonly processor: number | null;
  /** Percent of its memory. */
  readonly memory: number | null;
  /** Bytes per second. */
  readonly diskRead: number | null;
  readonly diskWritten: number | null;
  readonly received: number | null;
  readonly sent: number | null;
}

/** The history of a machine. */
export interface History {
  readonly samples: readonly Sample[];
  readonly last: MetricReport | null;
}

/** A history without samples. */
export const noHistory: History = { samples: [], last: null };

/** Samples of 2 hours, one each 5 s. */
const MAX_SAMPLES = 1440;
/** A longer pause interrupts the rates: the browser has slept. */
const MAX_PAUSE_MS = 60_000;

/** Returns the history with a further report. A repeated report changes nothing. */
export function extend(history: History, report: MetricReport, processors: number): History {
  const { last, samples } = history;
  if (last !== null && Date.parse(report.Timestamp) <= Date.parse(last.Timestamp)) return history;
  const sample = sampleOf(last, report, processors);
  return { samples: [...samples, sample].slice(-MAX_SAMPLES), last: report };
}

function sampleOf(before: MetricReport | null, now: MetricReport, processors: number): Sample {
  const time = Date.parse(now.Timestamp);
  const elapsed = before === null ? Infinity : time - Date.parse(before.Timestamp);
  /** Returns the growth of a counter per millisecond; null after a restart of the machine. */
  const rate = (id: string): number | null => {
    const [from, to] = [before === null ? null : valueOf(before, id), valueOf(now, id)];
    return from === null || to === null || to < from || elapsed > MAX_PAUSE_MS ? null : (to - from) / elapsed;
  };
  const perSecond = (id: string): number | null => {
    const value = rate(id);
    return value === null ? null : value * 1000;
  };
  const nanoseconds = rate('CPUTime');
  return {
    time,
    processor: nanoseconds === null ? null : Math.min((nanoseconds / 1e6 / Math.max(processors, 1)) * 100, 100),
    memory: valueOf(now, 'MemoryUtilization'),
    diskRead: perSecond('DiskReadBytes'),
    diskWritten: perSecond('DiskWriteBytes'),
    received: perSecond('NetworkReceivedBytes'),
    sent: perSecond('NetworkTransmittedBytes'),
  };
}

function valueOf({ MetricValues: values }: MetricReport, id: string): number | null {
  const text = values.find(({ MetricId }) => MetricId === id)?.MetricValue ?? null;
  return text === null ? null : Number(text);
}
