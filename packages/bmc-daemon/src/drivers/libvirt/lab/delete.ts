/**
 * Deletes lab machines. Checks first that no other machine and no other volume needs their volumes.
 */
import type { StorageVolume } from '@rackless/libvirt';
import { attempt } from '../failure.js';
import { LabError, reasonOf } from './lab-error.js';
import { isOwn, readMachines, type KnownMachine, type LabHost, type OwnMachine } from './lab-host.js';
import { reportOf, type OnReport } from './machine-report.js';
import { dataBytesOf, removeMachine, usesOf, volumesOf } from './remove.js';

/** A machine to delete. */
interface PlannedDeletion {
  readonly own: OwnMachine;
  readonly isRunning: boolean;
  /** Bytes on its disks that a guest has written. */
  readonly dataBytes: number;
}

/** A planned deletion: the machines to delete. */
export interface Deletion {
  readonly machines: readonly PlannedDeletion[];
  /** Names without a machine. */
  readonly absent: readonly string[];
}

/**
 * Finds the machines with the given names. A name can also select a group: all machines that
 * `--count` has numbered.
 * @throws {LabError} for a machine of another program, and for a volume that something else needs.
 * @throws {DriverError} if libvirt fails.
 */
export async function planDeletion(host: LabHost, names: readonly string[]): Promise<Deletion> {
  const all = await readMachines(host);
  const isNamed = ({ name, created }: KnownMachine): boolean =>
    names.includes(name) || (created?.group !== undefined && created.group !== null && names.includes(created.group));
  const named = all.filter(isNamed);
  const foreign = named.filter((known) => !isOwn(known));
  if (foreign.length > 0) {
    throw new LabError(foreign.map(({ name }) => `machine ${name} stays: bmc-daemon machine did not create it`));
  }
  const own = named.filter(isOwn);
  const found = await Promise.all(own.map((each) => volumesOf(host, each)));
  const volumes = found.flatMap((each) => each.volumes);
  const others = all.filter((known) => !named.includes(known));
  const uses = await usesOf(host, volumes, others);
  if (uses.length > 0) throw new LabError(uses);
  const machines = await Promise.all(own.map((each, index) => planned(host, each, found[index]?.volumes ?? [])));
  const absent = names.filter((name) => !all.some((known) => known.name === name || known.created?.group === name));
  return { machines, absent };
}

/**
 * Deletes machines. Reports each result, also for the names without a machine. Stops after the first failure, or
 * before the next machine after the signal.
 */
export async function deleteMachines(
  host: LabHost,
  { machines, absent }: Deletion,
  { signal, onReport }: { readonly signal?: AbortSignal; readonly onReport: OnReport },
): Promise<void> {
  for (const name of absent) {
    onReport({ name, uuid: null, outcome: 'absent', macAddresses: [], volumes: [], serialLog: null, notes: [] });
  }
  for (const { own } of machines) {
    if (signal?.aborted === true) return;
    try {
      onReport(reportOf(own, 'deleted', await removeMachine(host, own)));
    } catch (error) {
      onReport(reportOf(own, 'failed', [reasonOf(error)]));
      return;
    }
  }
}

async function planned(
  { timeoutMs }: LabHost,
  own: OwnMachine,
  volumes: readonly StorageVolume[],
): Promise<PlannedDeletion> {
  const [isRunning, dataBytes] = await Promise.all([
    attempt(`reading the state of machine ${own.name}`, () => own.machine.domain.isActive({ timeoutMs })),
    dataBytesOf(volumes, timeoutMs),
  ]);
  return { own, isRunning, dataBytes };
}
