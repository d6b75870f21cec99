/**
 * Nova's diagnostics of a server, in the form of API version 2.48.
 * @see https://docs.openstack.org/api-ref/compute/#servers-diagnostics-servers-diagnostics
 */
import { z } from 'zod';
import { listOf } from '../http/answer-forms.js';
import type { DiskCounter, InterfaceCounter, MachineStatistics } from '../../statistics-control.js';

const list = listOf(z.record(z.string(), z.unknown())).default([]);

/**
 * The members that the daemon uses. Answers of version 2.47 and older have none of these members.
 */
export const diagnosticsSchema = z.object({
  cpu_details: list,
  disk_details: list,
  nic_details: list,
});

const diskCounters: Readonly<Partial<Record<DiskCounter, string>>> = {
  readBytes: 'read_bytes',
  readRequests: 'read_requests',
  writeBytes: 'write_bytes',
  writeRequests: 'write_requests',
};

const interfaceCounters: Readonly<Record<InterfaceCounter, string>> = {
  rxBytes: 'rx_octets',
  rxPackets: 'rx_packets',
  rxErrors: 'rx_errors',
  rxDrops: 'rx_drop',
  txBytes: 'tx_octets',
  txPackets: 'tx_packets',
  txErrors: 'tx_errors',
  txDrops: 'tx_drop',
};

/**
 * Translates the diagnostics of one server. Disks have numbers, because Nova does not send their
 * names. The result has no memory, because the unit of Nova's value is unclear: the API documents
 * MiB, but Nova's driver for libvirt reports GiB.
 * @param run identifies the run of the server.
 */
export function statisticsOf(
  { cpu_details: cpus, disk_details: disks, nic_details: nics }: z.infer<typeof diagnosticsSchema>,
  { uuid, run }: Pick<MachineStatistics, 'uuid' | 'run'>,
): MachineStatistics {
  const times = cpus.flatMap(({ time }) => (isCounter(time) ? [time] : []));
  const isWhole = times.length > 0 && times.length === cpus.length;
  const timeNs = times.reduce((sum, time) => sum + time, 0);
  const macOf = ({ mac_address: mac }: Readonly<Record<string, unknown>>, index: number): string =>
    typeof mac === 'string' ? mac.toLowerCase() : String(index);
  return {
    uuid,
    run,
    processors: isWhole ? { vcpus: { timeNs, count: times.length } } : {},
    memory: {},
    disks: new Map(disks.map((disk, index) => [String(index), counters(disk, diskCounters)])),
    interfaces: new Map(nics.map((nic, index) => [macOf(nic, index), counters(nic, interfaceCounters)])),
  };
}

/** Returns whether a value is a counter. For a counter without a value, Nova reports null, or -1 with libvirt. */
function isCounter(value: unknown): value is number {
  return typeof value === 'number' && value >= 0;
}

/** Returns the counters that have a value. */
function counters<Name extends string>(
  values: Readonly<Record<string, unknown>>,
  names: Readonly<Partial<Record<Name, string>>>,
): Readonly<Partial<Record<Name, number>>> {
  const found = Object.entries<string | undefined>(names).flatMap(([name, field = '']) => {
    const value = values[field];
    return isCounter(value) ? [[name, value] as const] : [];
  });
  return Object.fromEntries(found) as Partial<Record<Name, number>>; // The keys are those of `names`.
}
