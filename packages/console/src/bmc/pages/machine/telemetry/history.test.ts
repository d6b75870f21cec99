import { describe, expect, it } from '@jest/globals';
import { extend, type MetricReport, type Sample } from './history.js';

const report = (second: number, values: Readonly<Record<string, string | null>>): MetricReport => ({
  Timestamp: new Date(second * 1000).toISOString(),
  MetricValues: Object.entries(values).map(([MetricId, MetricValue]) => ({ MetricId, MetricValue })),
});

describe('the samples of metric reports', () => {
  it('have the values of the known metrics, and null for those that the report lacks', () => {
    const values = { CPUUtilization: '26.54', DiskReadRate: '0', MemoryUtilization: null, CPUTime: '9' };
    expect(extend([], report(5, values))).toEqual([
      { time: 5000, processor: 26.54, memory: null, diskRead: 0, diskWritten: null, received: null, sent: null },
    ]);
  });

  it('ignore a repeated or older report', () => {
    const samples = extend([], report(5, {}));
    expect(extend(samples, report(5, {}))).toBe(samples);
    expect(extend(samples, report(4, {}))).toBe(samples);
  });

  it('are at most those of the last 2 hours', () => {
    let samples: readonly Sample[] = [];
    for (let second = 5; second <= 10_000; second += 5) samples = extend(samples, report(second, {}));
    expect([samples.length, samples[0]?.time]).toEqual([1440, 2_805_000]);
  });
});
