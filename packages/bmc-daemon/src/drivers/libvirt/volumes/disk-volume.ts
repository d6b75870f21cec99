/** Storage pool volumes as disks: the volume of a disk, and the `<source>` of a volume. */
import {
  ConnectListAllStoragePoolsFlags,
  isLibvirtError,
  StorageVolType,
  type Hypervisor,
  type StoragePool,
  type StorageVolume,
} from '@rackless/libvirt';
import { DriverError } from '../../driver-error.js';
import type { Provisioning } from '../../volume-control.js';
import { attempt } from '../failure.js';
import type { Disk } from '../xml/devices/device.js';
import type { NewDiskSource } from '../xml/devices/disk-source.js';
import { encodeText } from '../xml/escape.js';
import { parseXml } from '../xml/parse.js';
import { child, textOf } from '../xml/tree.js';

/** Timeout of a creation. The allocation of a whole volume can take minutes. */
const CREATE_TIMEOUT_MS = 600_000;
const DELETE_TIMEOUT_MS = 60_000;

/** A volume to create. */
interface VolumeSpec {
  readonly name: string;
  readonly capacityBytes: number;
  readonly format: 'qcow2' | 'raw';
  /** Bytes that the pool allocates at creation. */
  readonly allocationBytes: number;
}

/** Returns the volume to create. The provisioning decides its format, its allocation and the suffix of its name. */
export function volumeSpec(name: string, capacityBytes: number, provisioning: Provisioning): VolumeSpec {
  return provisioning === 'thin'
    ? { name: `${name}.qcow2`, capacityBytes, format: 'qcow2', allocationBytes: 0 }
    : { name: `${name}.img`, capacityBytes, format: 'raw', allocationBytes: capacityBytes };
}

/**
 * Creates a volume.
 * @throws {LibvirtError} STORAGE_VOL_EXIST, if the pool has a volume of this name; all other errors of
 *   libvirt.
 */
export async function makeVolume(pool: StoragePool, spec: VolumeSpec): Promise<StorageVolume> {
  const xml = [
    `<volume><name>${encodeText(spec.name)}</name>`,
    `<capacity unit='bytes'>${spec.capacityBytes}</capacity>`,
    `<allocation unit='bytes'>${spec.allocationBytes}</allocation>`,
    `<target><format type='${spec.format}'/></target></volume>`,
  ].join('');
  return await pool.storageVolCreateXml(xml, 0, { timeoutMs: CREATE_TIMEOUT_MS });
}

/**
 * Deletes a volume and its data. Ignores a volume that is already gone.
 * @throws {LibvirtError} OPERATION_INVALID while libvirt still creates the volume; all other errors of
 *   libvirt.
 */
export async function deleteVolume(volume: StorageVolume): Promise<void> {
  try {
    await volume.delete(0, { timeoutMs: DELETE_TIMEOUT_MS });
  } catch (error) {
    if (!isLibvirtError(error, 'NO_STORAGE_VOL')) throw error;
  }
}

/**
 * Returns the `<source>` of a volume for a definition. A file or a block device is named by its path, because
 * the host's access rules (AppArmor) cover paths. In some releases, they do not cover volumes.
 * @throws {DriverError} if libvirt cannot look up the volume.
 */
export async function sourceOfVolume(volume: StorageVolume, timeoutMs: number): Promise<NewDiskSource> {
  return await attempt(`looking up volume ${volume.name}`, () => readSource(volume, timeoutMs));
}

async function readSource(volume: StorageVolume, timeoutMs: number): Promise<NewDiskSource> {
  const { type } = await volume.getInfo({ timeoutMs });
  if (type === StorageVolType.FILE) return { type: 'file', path: await volume.getPath({ timeoutMs }) };
  if (type === StorageVolType.BLOCK) return { type: 'block', path: await volume.getPath({ timeoutMs }) };
  return { type: 'volume', pool: volume.pool, volume: volume.name };
}

/**
 * Returns the volume of a disk.
 * @throws {DriverError} unsupported, if no storage pool has it. The daemon deletes only volumes in
 *   pools.
 * @throws {LibvirtError} any other failure of the lookup.
 */
export async function volumeOf(hypervisor: Hypervisor, { source }: Disk, timeoutMs: number): Promise<StorageVolume> {
  const noSuchVolume = (cause?: unknown): DriverError =>
    new DriverError(
      'unsupported',
      `looking up the volume of a disk: no storage pool of the host has ${source.name ?? 'it'}`,
      {
        cause,
      },
    );
  try {
    if (source.pool !== null && source.volume !== null) {
      const pool = await hypervisor.storagePoolLookupByName(source.pool, { timeoutMs });
      return await pool.storageVolLookupByName(source.volume, { timeoutMs });
    }
    if (source.name !== null && (source.type === 'file' || source.type === 'block')) {
      return await hypervisor.storageVolLookupByPath(source.name, { timeoutMs });
    }
  } catch (error) {
    if (isLibvirtError(error, 'NO_STORAGE_VOL', 'NO_STORAGE_POOL')) throw noSuchVolume(error);
    throw error;
  }
  throw noSuchVolume();
}

/** Timeout of a refresh, which is slow for a pool with many volumes. */
const REFRESH_TIMEOUT_MS = 60_000;

/**
 * Returns the name of a volume in an active pool whose backing file is this volume; null if there is none.
 * The XML of volumes names backing files, but the XML of a machine that is off does not. So this reads the
 * volumes. It refreshes only the pool of this volume.
 * @throws {LibvirtError} if libvirt cannot look up a volume or a pool.
 */
export async function nameOfOverlay(
  hypervisor: Hypervisor,
  volume: StorageVolume,
  timeoutMs: number,
): Promise<string | null> {
  const path = await volume.getPath({ timeoutMs });
  // Volumes that other programs have created, mostly snapshots, appear only after a refresh. A busy pool
  // rejects the refresh. The function then uses the result of the previous refresh.
  const pool = await hypervisor.storagePoolLookupByName(volume.pool, { timeoutMs });
  await pool.refresh({ timeoutMs: REFRESH_TIMEOUT_MS }).catch(() => undefined);
  const based = (await backedVolumes(hypervisor, timeoutMs)).find(({ backingFile }) => backingFile === path);
  return based?.name ?? null;
}

/** A volume with a backing file. */
interface BackedVolume {
  readonly name: string;
  /** libvirt's key of the volume. In a pool of files it is the path. */
  readonly path: string;
  readonly backingFile: string;
}

/**
 * Returns the volumes with a backing file in all active pools, as of the latest refresh of each pool.
 */
export async function backedVolumes(hypervisor: Hypervisor, timeoutMs: number): Promise<readonly BackedVolume[]> {
  const backed: BackedVolume[] = [];
  for (const pool of await hypervisor.listAllStoragePools(ConnectListAllStoragePoolsFlags.ACTIVE, { timeoutMs })) {
    for (const volume of await pool.listAllVolumes({ timeoutMs })) {
      const backingFile = await backingFileOf(volume, timeoutMs);
      if (backingFile !== null) backed.push({ name: volume.name, path: volume.key, backingFile });
    }
  }
  return backed;
}

async function backingFileOf(volume: StorageVolume, timeoutMs: number): Promise<string | null> {
  try {
    return textOf(child(parseXml(await volume.getXmlDesc({ timeoutMs })).root, 'backingStore', 'path'));
  } catch (error) {
    // Another client has deleted the volume meanwhile.
    if (isLibvirtError(error, 'NO_STORAGE_VOL')) return null;
    throw error;
  }
}
