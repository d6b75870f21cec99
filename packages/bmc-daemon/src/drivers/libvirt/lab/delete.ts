/** Deletes lab machines, after checks that lose nothing. */
import type { StorageVolume } from '@rackless/libvirt';
import { attempt } from '../failure.js';
import { machineTexts } from '../machine/definition.js';
import { backedVolumes } from '../volumes/disk-volume.js';
import { namesVolume, volumeNames, type VolumeNames } from '../volumes/volume-names.js';
import { LabError } from './lab-error.js';
import { readMachines, type KnownMachine, type LabHost } from './lab-host.js';
import { reportOf, type OnReport } from './machine-report.js';
import { isOwn, removeMachine, volumesOf, type OwnMachine } from './remove.js';

/** A new qcow2 volume has 200 KiB. More is data of a guest. */
const EMPTY_BYTES = 1024 ** 2;
/** A refresh of a pool with many volumes is slow. */
const REFRESH_TIMEOUT_MS = 60_000;

/** A machine to delete. */
interface Doomed {
  readonly own: OwnMachine;
  readonly isRunning: boolean;
  /** Bytes on its disks that a guest has written. */
  readonly dataBytes: number;
}

/** What a deletion would do. */
export interface Deletion {
  readonly machines: readonly Doomed[];
  /** Names without a machine. */
  readonly absent: readonly string[];
}

/**
 * Finds the machines of names. A name is that of a machine, or of all machines that `--count` has numbered.
 * @throws {LabError} for a machine of another program, and for a disk that something else needs; DriverError.
 */
export async function planDeletion(host: LabHost, names: readonly string[]): Promise<Deletion> {
  const all = await readMachines(host);
  const isNamed = ({ name, created }: KnownMachine): boolean =>
    names.includes(name) || (created?.group !== undefined && created.group !== null && names.includes(created.group));
  const named = all.filter(isNamed);
  const foreign = named.filter((known) => !isOwn(known));
  if (foreign.length > 0) {
    throw new LabError(foreign.map(({ name }) => `machine ${name} stays: this command has not created it`));
  }
  const own = named.filter(isOwn);
  const found = await Promise.all(own.map((each) => volumesOf(host, each)));
  const volumes = found.flatMap((each) => each.volumes);
  const others = all.filter((known) => !named.includes(known));
  await checkUnused(host, volumes, others);
  const machines = await Promise.all(own.map((each, index) => doomed(host, each, found[index]?.volumes ?? [])));
  const absent = names.filter((name) => !all.some((known) => known.name === name || known.created?.group === name));
  return { machines, absent };
}

/** Deletes machines. It stops at the first failure. */
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
      onReport(reportOf(own, 'failed', [error instanceof Error ? error.message : String(error)]));
      return;
    }
  }
}

async function doomed({ timeoutMs }: LabHost, own: OwnMachine, volumes: readonly StorageVolume[]): Promise<Doomed> {
  return await attempt(`reading the state of machine ${own.name}`, async () => {
    const [isRunning, ...sizes] = await Promise.all([
      own.machine.domain.isActive({ timeoutMs }),
      ...volumes.map(async (volume) => (await volume.getInfo({ timeoutMs })).allocationBytes),
    ]);
    const dataBytes = sizes.filter((bytes) => bytes > EMPTY_BYTES).reduce((sum, bytes) => sum + bytes, 0);
    return { own, isRunning, dataBytes };
  });
}

/** Checks that neither other machines nor other volumes need the volumes. @throws {LabError} */
async function checkUnused(
  host: LabHost,
  volumes: readonly StorageVolume[],
  others: readonly KnownMachine[],
): Promise<void> {
  const { hypervisor, timeoutMs } = host;
  if (volumes.length === 0) return;
  const names = await Promise.all(volumes.map((volume) => volumeNames(volume, timeoutMs)));
  const problems: string[] = [];
  for (const other of others) {
    const texts = await machineTexts(other.machine, timeoutMs);
    const shared = names.filter((each) => texts.some((text) => namesVolume(text, each)));
    problems.push(...shared.map(({ name }) => `volume ${name} stays: machine ${other.name} also uses it`));
  }
  const backed = await attempt('looking for volumes that need the disks', async () => {
    for (const name of new Set(volumes.map(({ pool }) => pool))) {
      // libvirt finds volumes of other programs only in a refresh. A busy pool rejects it.
      const pool = await hypervisor.storagePoolLookupByName(name, { timeoutMs });
      await pool.refresh({ timeoutMs: REFRESH_TIMEOUT_MS }).catch(() => undefined);
    }
    return await backedVolumes(hypervisor, timeoutMs);
  });
  const paths = new Map(names.map((each: VolumeNames) => [each.path, each.name]));
  for (const { name, path, backingFile } of backed) {
    const base = paths.get(backingFile);
    if (base !== undefined && !paths.has(path)) problems.push(`volume ${base} stays: volume ${name} is based on it`);
  }
  if (problems.length > 0) throw new LabError(problems);
}
