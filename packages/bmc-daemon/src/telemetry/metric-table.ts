/** The metrics of a machine, and how to compute each from the hypervisor's counters. */
import type { DiskCounter, InterfaceCounter, MachineStatistics } from '../drivers/statistics-control.js';

/** The input of a metric. */
interface View {
  readonly now: MachineStatistics;
  /** An earlier measurement of the same run; undefined if there is none. */
  readonly before: MachineStatistics | undefined;
  /** The time between the two measurements; 0 without an earlier measurement. */
  readonly seconds: number;
}

/** A value, and its time if this time differs from the time of the sample. */
interface Reading {
  readonly value: number;
  readonly at?: Date;
}

interface Metric {
  /** Id of its MetricDefinition, and MetricId of its values. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** DMTF's metric type: a counter starts at 0 with each start of the machine. */
  readonly type: 'Counter' | 'Gauge';
  readonly dataType: 'Integer' | 'Decimal';
  /** Units in the notation of UCUM, case sensitive. */
  readonly units: '%' | 'By' | 'By/s' | 'ns' | '{request}' | '{packet}';
  readonly min?: number;
  readonly max?: number;
  /** Whether values of several machines may be added. */
  readonly summable: boolean;
  /** Returns the value; undefined if unknown. */
  readonly read: (view: View) => Reading | undefined;
}

const readingOf = (value: number | undefined): Reading | undefined => (value === undefined ? undefined : { value });

const cpu: readonly Metric[] = [
  {
    id: 'CPUUtilization',
    name: 'CPU Utilization',
    description: 'Average share of the time in which the virtual CPUs ran, since the last report.',
    type: 'Gauge',
    dataType: 'Decimal',
    units: '%',
    min: 0,
    max: 100,
    summable: false,
    read: ({ now, before, seconds }) => {
      const [current, past] = [now.processors.vcpus, before?.processors.vcpus];
      // If the number of CPUs changed, the two sums are not comparable.
      if (current === undefined || past?.count !== current.count) return undefined;
      const share = ((current.timeNs - past.timeNs) / (seconds * 1e9 * current.count)) * 100;
      // The kernel counts in steps of 10 ms, so the result may slightly exceed 100 %.
      return share < 0 ? undefined : { value: roundedToHundredths(Math.min(share, 100)) };
    },
  },
  {
    id: 'CPUTime',
    name: 'CPU Time',
    description: 'CPU time of the host that the machine has used, the work of its devices included.',
    type: 'Counter',
    dataType: 'Integer',
    units: 'ns',
    min: 0,
    summable: true,
    read: ({ now }) => readingOf(now.processors.timeNs),
  },
];

const memory: readonly Metric[] = [
  {
    id: 'MemoryAllocated',
    name: 'Memory Allocated',
    description: 'Memory that the machine has at the moment, as its balloon device reports it.',
    type: 'Gauge',
    dataType: 'Integer',
    units: 'By',
    min: 0,
    summable: true,
    read: ({ now }) => readingOf(bytesOfKib(now.memory.currentKiB)),
  },
  {
    id: 'MemoryResident',
    name: 'Memory Resident',
    description: "Memory of the host that the machine's process uses.",
    type: 'Gauge',
    dataType: 'Integer',
    units: 'By',
    min: 0,
    summable: true,
    read: ({ now }) => readingOf(bytesOfKib(now.memory.residentKiB)),
  },
  {
    id: 'MemoryUtilization',
    name: 'Memory Utilization',
    description:
      "Share of the guest's memory that is not available without swapping, as its balloon driver reports it.",
    type: 'Gauge',
    dataType: 'Decimal',
    units: '%',
    min: 0,
    max: 100,
    summable: false,
    read: ({ now }) => {
      const { guest } = now.memory;
      if (guest === undefined || guest.usableKiB > guest.availableKiB) return undefined;
      return { value: roundedToHundredths((1 - guest.usableKiB / guest.availableKiB) * 100), at: guest.at };
    },
  },
];

/** Returns a metric for the total of all disks or interfaces. */
const total = (
  id: string,
  name: string,
  what: string,
  units: Metric['units'],
  read: (machine: MachineStatistics) => Devices,
): Metric => ({
  id,
  name,
  description: `${what}, since the machine was started.`,
  type: 'Counter',
  dataType: 'Integer',
  units,
  min: 0,
  summable: true,
  read: ({ now }) => readingOf(sumOf(read(now))),
});

/**
 * Returns a metric for the rate of all disks or interfaces: the growth of their total per second.
 */
const rate = (id: string, name: string, what: string, read: (machine: MachineStatistics) => Devices): Metric => ({
  id,
  name,
  description: `${what}, since the last report.`,
  type: 'Gauge',
  dataType: 'Decimal',
  units: 'By/s',
  min: 0,
  summable: true,
  read: ({ now, before, seconds }) => {
    const grown = before === undefined ? undefined : growthOf(read(before), read(now));
    return grown === undefined ? undefined : { value: roundedToHundredths(grown / seconds) };
  },
});

const disk = (counter: DiskCounter) => (machine: MachineStatistics) => valuesByDevice(machine.disks, counter);
const nic = (counter: InterfaceCounter) => (machine: MachineStatistics) => valuesByDevice(machine.interfaces, counter);

const disks: readonly Metric[] = [
  rate('DiskReadRate', 'Disk Read Rate', 'Bytes per second that the machine read from its disks', disk('readBytes')),
  rate('DiskWriteRate', 'Disk Write Rate', 'Bytes per second that the machine wrote to its disks', disk('writeBytes')),
  total('DiskReadBytes', 'Disk Read Bytes', 'Bytes that the machine read from its disks', 'By', disk('readBytes')),
  total('DiskWriteBytes', 'Disk Write Bytes', 'Bytes that the machine wrote to its disks', 'By', disk('writeBytes')),
  total('DiskReadRequests', 'Disk Read Requests', "Reads of the machine's disks", '{request}', disk('readRequests')),
  total(
    'DiskWriteRequests',
    'Disk Write Requests',
    "Writes to the machine's disks",
    '{request}',
    disk('writeRequests'),
  ),
  total('DiskReadTime', 'Disk Read Time', "Total time of the reads of the machine's disks", 'ns', disk('readTimeNs')),
  total(
    'DiskWriteTime',
    'Disk Write Time',
    "Total time of the writes to the machine's disks",
    'ns',
    disk('writeTimeNs'),
  ),
];

const network: readonly Metric[] = [
  rate('NetworkReceiveRate', 'Network Receive Rate', 'Bytes per second that the machine received', nic('rxBytes')),
  rate('NetworkTransmitRate', 'Network Transmit Rate', 'Bytes per second that the machine sent', nic('txBytes')),
  total('NetworkReceivedBytes', 'Network Received Bytes', 'Bytes that the machine received', 'By', nic('rxBytes')),
  total('NetworkTransmittedBytes', 'Network Transmitted Bytes', 'Bytes that the machine sent', 'By', nic('txBytes')),
  total(
    'NetworkReceivedPackets',
    'Network Received Packets',
    'Packets that the machine received',
    '{packet}',
    nic('rxPackets'),
  ),
  total(
    'NetworkTransmittedPackets',
    'Network Transmitted Packets',
    'Packets that the machine sent',
    '{packet}',
    nic('txPackets'),
  ),
  total(
    'NetworkReceiveErrors',
    'Network Receive Errors',
    'Packets that the machine could not receive',
    '{packet}',
    nic('rxErrors'),
  ),
  total(
    'NetworkTransmitErrors',
    'Network Transmit Errors',
    'Packets that the machine could not send',
    '{packet}',
    nic('txErrors'),
  ),
  total(
    'NetworkReceiveDrops',
    'Network Receive Drops',
    'Packets to the machine that were dropped',
    '{packet}',
    nic('rxDrops'),
  ),
  total(
    'NetworkTransmitDrops',
    'Network Transmit Drops',
    'Packets from the machine that were dropped',
    '{packet}',
    nic('txDrops'),
  ),
];

/** All metrics, in the order of a report. */
export const metrics: readonly Metric[] = [...cpu, ...memory, ...disks, ...network];

/** The values of one counter, by device. */
type Devices = ReadonlyMap<string, number>;

function valuesByDevice<Name extends string>(
  all: ReadonlyMap<string, Readonly<Partial<Record<Name, number>>>>,
  counter: Name,
): Devices {
  const found = new Map<string, number>();
  for (const [device, counters] of all) {
    const value = counters[counter];
    if (value !== undefined) found.set(device, value);
  }
  return found;
}

function sumOf(all: Devices): number | undefined {
  if (all.size === 0) return undefined;
  let whole = 0;
  for (const value of all.values()) whole += value;
  return whole;
}

/**
 * Returns the increase between the measurements; undefined if a device was added, removed or reset, or if there is
 * no device.
 */
function growthOf(before: Devices, now: Devices): number | undefined {
  if (now.size === 0 || now.size !== before.size) return undefined;
  let whole = 0;
  for (const [device, value] of now) {
    const past = before.get(device);
    if (past === undefined || past > value) return undefined;
    whole += value - past;
  }
  return whole;
}

function bytesOfKib(kiB: number | undefined): number | undefined {
  return kiB === undefined ? undefined : kiB * 1024;
}

function roundedToHundredths(value: number): number {
  return Math.round(value * 100) / 100;
}
