import { describe, expect, it } from '@jest/globals';
import { extend, noHistory, type MetricReport } from './history.js';

const report = (second: number, values: Readonly<Record<string, number>>): MetricReport => ({
  Timestamp: new Date(second * 1000).toISOString(),
  MetricValues: Object.entries(values).map(([MetricId, value]) => ({ MetricId, MetricValue: String(value) })),
});

describe('the history of metric reports', () => {
  it('has rates from the second report on', () => {
    const first = extend(noHistory, report(0, { CPUTime: 0, DiskReadBytes: 100, MemoryUtilization: 12.5 }), 2);
    expect(first.samples).toEqual([expect.objectContaining({ processor: null, diskRead: null, memory: 12.5 })]);
    const { samples } = extend(first, report(5, { CPUTime: 5e9, DiskReadBytes: 1100 }), 2);
    expect(samples[1]).toMatchObject({ time: 5000, processor: 50, diskRead: 200, memory: null, sent: null });
  });

  it('has no rate over a restart of the machine, or over a long pause', () => {
    const first = extend(noHistory, report(0, { CPUTime: 9e9 }), 1);
    expect(extend(first, report(5, { CPUTime: 1e9 }), 1).samples[1]?.processor).toBeNull();
    expect(extend(first, report(500, { CPUTime: 10e9 }), 1).samples[1]?.processor).toBeNull();
  });

  it('ignores a repeated report, and keeps 2 hours', () => {
    const first = extend(noHistory, report(5, {}), 1);
    expect(extend(first, report(5, {}), 1)).toBe(first);
    let history = noHistory;
    for (let second = 0; second < 10_000; second += 5) history = extend(history, report(second, {}), 1);
    expect([history.samples.length, history.samples[0]?.time]).toEqual([1440, 2_800_000]);
  });
});
