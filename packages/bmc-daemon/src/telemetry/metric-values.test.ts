import { describe, expect, it } from '@jest/globals';
import type { MachineStatistics } from '../drivers/statistics-control.js';
import { metricValues } from './metric-values.js';
import { metrics } from './metric-table.js';
import type { Measurement } from './sampler.js';

const machine: MachineStatistics = {
  uuid: '00000000-0000-4000-8000-000000000001',
  run: '1',
  processors: { timeNs: 5e9, vcpus: { timeNs: 4e9, count: 2 } },
  memory: {
    currentKiB: 2_048,
    residentKiB: 1_024,
    guest: { availableKiB: 2_000, usableKiB: 500, at: new Date('2026-11-20T19:59:00Z') },
  },
  disks: new Map([
    [
      'vda',
      { readBytes: 1_000, readRequests: 2, readTimeNs: 30, writeBytes: 10_000, writeRequests: 4, writeTimeNs: 50 },
    ],
    ['vdb', { readBytes: 500, readRequests: 1, readTimeNs: 10, writeBytes: 0, writeRequests: 0, writeTimeNs: 0 }],
  ]),
  interfaces: new Map([
    ['52:54:00:00:00:01', { rxBytes: 70, rxPackets: 7, rxErrors: 0, rxDrops: 1, txBytes: 60, txPackets: 6, txErrors: 0, txDrops: 0 }], // prettier-ignore
  ]),
};
const at = new Date('2026-11-20T20:00:00Z');

const measurementAt = (seconds: number, change: Partial<MachineStatistics> = {}, tookMs = 0): Measurement => ({
  at,
  clockMs: seconds * 1000,
  tookMs,
  statistics: { ...machine, ...change },
});
const values = (now: Measurement, before?: Measurement): Readonly<Record<string, number>> =>
  Object.fromEntries(metricValues(now, before).map(({ metricId, value }) => [metricId, value]));

const counted = {
  CPUTime: 5e9,
  MemoryAllocated: 2_097_152,
  MemoryResident: 1_048_576,
  MemoryUtilization: 75,
  DiskReadBytes: 1_500,
  DiskWriteBytes: 10_000,
  DiskReadRequests: 3,
  DiskWriteRequests: 4,
  DiskReadTime: 40,
  DiskWriteTime: 50,
  NetworkReceivedBytes: 70,
  NetworkTransmittedBytes: 60,
  NetworkReceivedPackets: 7,
  NetworkTransmittedPackets: 6,
  NetworkReceiveErrors: 0,
  NetworkTransmitErrors: 0,
  NetworkReceiveDrops: 1,
  NetworkTransmitDrops: 0,
};

describe('metric values of a machine', () => {
  const later: Partial<MachineStatistics> = {
    processors: { timeNs: 9e9, vcpus: { timeNs: 9e9, count: 2 } },
    disks: new Map([
      ['vda', { readBytes: 3_000, writeBytes: 10_001 }],
      ['vdb', { readBytes: 600, writeBytes: 0 }],
    ]),
    interfaces: new Map([['52:54:00:00:00:01', { rxBytes: 1_070, txBytes: 60 }]]),
  };

  it('contain no rates after the first measurement: rates are missing, not 0', () => {
    expect(values(measurementAt(0))).toEqual(counted);
  });

  it('have rates over the time between two measurements, each for all disks, interfaces or CPUs together', () => {
    expect(values(measurementAt(10, later), measurementAt(0))).toMatchObject({
      CPUUtilization: 25,
      DiskReadRate: 210,
      DiskWriteRate: 0.1,
      NetworkReceiveRate: 100,
      NetworkTransmitRate: 0,
    });
  });

  it('have no rates across a start of the machine, or if a counter decreased', () => {
    expect(values(measurementAt(10, { run: '2' }), measurementAt(0))).toEqual(counted);
    // After a restart of the host, another run can have the same id, but its counters are lower.
    const decreased: Partial<MachineStatistics> = {
      processors: { vcpus: { timeNs: 1e9, count: 2 } },
      disks: new Map([['vda', { readBytes: 0 }]]),
      interfaces: new Map([['52:54:00:00:00:01', { rxBytes: 0 }]]),
    };
    const found = Object.keys(values(measurementAt(10, decreased), measurementAt(0, { ...decreased, ...later })));
    expect(found.filter((id) => /Rate$|CPUUtilization/.test(id))).toEqual([]);
  });

  it('have no rate of the disks after a disk was removed, nor of the CPUs after their number changed', () => {
    const one: Partial<MachineStatistics> = {
      processors: { vcpus: { timeNs: 9e9, count: 1 } },
      disks: new Map([['vda', { readBytes: 3_000 }]]),
    };
    const found = values(measurementAt(10, one), measurementAt(0));
    expect([found['CPUUtilization'], found['DiskReadRate'], found['NetworkReceiveRate']]).toEqual([
      undefined,
      undefined,
      0,
    ]);
  });

  it('have no rates if both measurements together took more than half of the time between them', () => {
    expect(values(measurementAt(10, later, 2_500), measurementAt(0, {}, 2_500))['DiskReadRate']).toBe(210);
    expect(values(measurementAt(10, later, 2_600), measurementAt(0, {}, 2_500))['DiskReadRate']).toBeUndefined();
  });

  it('never show more than 100 % CPUUtilization, although the kernel counts in steps', () => {
    const full: Partial<MachineStatistics> = { processors: { vcpus: { timeNs: 24.01e9, count: 2 } } };
    expect(values(measurementAt(10, full), measurementAt(0))['CPUUtilization']).toBe(100);
  });

  it('are empty for a machine that is off, and omit missing counters', () => {
    expect(metricValues({ ...measurementAt(0), statistics: null }, measurementAt(0))).toEqual([]);
    const nothing = { processors: {}, memory: {}, disks: new Map(), interfaces: new Map() };
    expect(metricValues(measurementAt(10, nothing), measurementAt(0, nothing))).toEqual([]);
  });

  it("have the time of the measurement, or of the guest's report for values from the guest", () => {
    const times = new Map(metricValues(measurementAt(0), undefined).map(({ metricId, at }) => [metricId, at]));
    expect(times.get('CPUTime')).toBe(at);
    expect(times.get('MemoryUtilization')).toEqual(new Date('2026-11-20T19:59:00Z'));
  });

  it('have only ids of the metric table, which has no duplicates', () => {
    const ids = metrics.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    const all = metricValues(measurementAt(10, { ...machine, ...later }), measurementAt(0)).map(
      ({ metricId }) => metricId,
    );
    expect(ids).toEqual(expect.arrayContaining(all));
  });
});
