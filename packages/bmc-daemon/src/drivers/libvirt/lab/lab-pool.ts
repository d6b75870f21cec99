/** The storage pool of new disks, and the new volumes in it. */
import type { StoragePool, StorageVolume } from '@rackless/libvirt';
import { attempt } from '../failure.js';
import { startedPool, isDirectoryPool } from '../media/open-pool.js';
import { makeVolume, volumeSpec } from '../volumes/disk-volume.js';
import { LabError, missingOnHost } from './lab-error.js';
import type { LabHost } from './lab-host.js';
import type { DiskVolume } from './machine-xml.js';

/** The pool that virt-install and virt-manager use, and create. */
const USUAL_POOL = 'default';
/** Timeout of a refresh, which is slow for a pool with many volumes. */
const REFRESH_TIMEOUT_MS = 60_000;

/** A pool with the names of its volumes. */
export interface LabPool {
  readonly pool: StoragePool;
  /** True if the volumes are files. Then new disks are thin qcow2 volumes, otherwise raw volumes. */
  readonly hasFiles: boolean;
  readonly volumeNames: ReadonlySet<string>;
}

/** A volume that a machine will get. */
export interface PlannedVolume {
  readonly pool: string;
  readonly volume: string;
  readonly format: DiskVolume['format'];
  /** Creates the volume. @throws {DriverError} storageFull, conflict, unavailable. */
  create(): Promise<StorageVolume>;
}

/**
 * Opens a storage pool.
 * @param name null: the pool `default` if the host has it, otherwise the pool of EMULATOR_STORAGE_POOL, which must
 *   exist. Without this setting: the daemon's own pool, which is created if necessary.
 * @throws {LabError} if there is no pool with this name.
 * @throws {DriverError} unsupported, if the pool of EMULATOR_STORAGE_POOL is missing; other kinds, if libvirt fails.
 */
export async function openLabPool(host: LabHost, name: string | null): Promise<LabPool> {
  const { hypervisor, uri, timeoutMs, storagePool } = host;
  const pools = await attempt('listing the storage pools', () => hypervisor.listAllStoragePools(0, { timeoutMs }));
  const names = pools.map((pool) => pool.name);
  if (name !== null && !names.includes(name)) throw new LabError([missingOnHost('storage pool', name, names)]);
  const wanted = name ?? (names.includes(USUAL_POOL) ? USUAL_POOL : storagePool);
  const pool = await startedPool({ hypervisor, uri, name: wanted, create: true, timeoutMs });
  if (pool === null) throw new LabError(['the host has no storage pool']);
  return await attempt(`reading storage pool ${pool.name}`, async () => {
    // A refresh finds the files that other programs have created. A busy pool rejects the refresh, so these
    // files may be missing from the list.
    await pool.refresh({ timeoutMs: REFRESH_TIMEOUT_MS }).catch(() => undefined);
    const volumes = await pool.listAllVolumes({ timeoutMs });
    const hasFiles = await isDirectoryPool(pool, timeoutMs);
    return { pool, hasFiles, volumeNames: new Set(volumes.map((volume) => volume.name)) };
  });
}

/** Returns the name of a machine's disk without its ending, such as `node-1` or `node-1-disk2`. */
export const diskName = (machine: string, index: number): string =>
  index === 0 ? machine : `${machine}-disk${index + 1}`;

/** Plans an empty disk. @param index from 0. */
export function plannedDisk(
  { pool, hasFiles }: LabPool,
  { machine, index, bytes }: { readonly machine: string; readonly index: number; readonly bytes: number },
): PlannedVolume {
  const spec = volumeSpec(diskName(machine, index), bytes, hasFiles ? 'thin' : 'fixed');
  return {
    pool: pool.name,
    volume: spec.name,
    format: spec.format,
    create: () => attempt(`creating volume ${spec.name} in pool ${pool.name}`, () => makeVolume(pool, spec)),
  };
}

/** Returns a problem for each planned volume whose name the pool already has. */
export function takenVolumes({ volumeNames, pool }: LabPool, planned: readonly PlannedVolume[]): readonly string[] {
  return planned
    .filter(({ pool: name, volume }) => name === pool.name && volumeNames.has(volume))
    .map(({ volume }) => `pool ${pool.name} already has a volume ${volume}, which this command has not created`);
}
