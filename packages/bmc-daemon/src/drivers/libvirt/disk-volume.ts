/** Volumes of storage pools as disks: what is behind a disk, and how a volume is written into a definition. */
import {
  ConnectListAllStoragePoolsFlags,
  isLibvirtError,
  StorageVolType,
  type Hypervisor,
  type StoragePool,
  type StorageVolume,
} from '@rackless/libvirt';
import { DriverError } from '../driver.js';
import type { Provisioning } from '../volume-control.js';
import { attempt } from './failure.js';
import type { Disk } from './xml/device.js';
import type { DiskPlace } from './xml/disk-source.js';
import { child, encodeText, parseXml, textOf } from './xml/parse.js';

/** Taking all of a volume's space may take a while. */
const CREATE_TIMEOUT_MS = 600_000;
const DELETE_TIMEOUT_MS = 60_000;

/** A volume to be made. */
export interface VolumeSpec {
  readonly name: string;
  readonly capacityBytes: number;
  readonly format: 'qcow2' | 'raw';
  /** How much of it is taken from the start. */
  readonly allocationBytes: number;
}

/** How a volume is made, by its provisioning. */
export function volumeSpec(name: string, capacityBytes: number, provisioning: Provisioning): VolumeSpec {
  return provisioning === 'thin'
    ? { name: `${name}.qcow2`, capacityBytes, format: 'qcow2', allocationBytes: 0 }
    : { name: `${name}.img`, capacityBytes, format: 'raw', allocationBytes: capacityBytes };
}

/** Makes a volume. @throws {LibvirtError} STORAGE_VOL_EXIST, and what the pool says. */
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
 * @throws {LibvirtError} OPERATION_INVALID while it is still being made.
 */
export async function deleteVolume(volume: StorageVolume): Promise<void> {
  try {
    await volume.delete(0, { timeoutMs: DELETE_TIMEOUT_MS });
  } catch (error) {
    if (!isLibvirtError(error, 'NO_STORAGE_VOL')) throw error;
  }
}

/**
 * How a definition names a volume. By its path where it has one: the host's access rules (AppArmor) know files and devices, and not
 * every release of them knows volumes.
 * @throws {DriverError} unavailable.
 */
export async function placeOfVolume(volume: StorageVolume, timeoutMs: number): Promise<DiskPlace> {
  return await attempt(`looking up volume ${volume.name}`, () => readPlace(volume, timeoutMs));
}

async function readPlace(volume: StorageVolume, timeoutMs: number): Promise<DiskPlace> {
  const { type } = await volume.getInfo({ timeoutMs });
  if (type === StorageVolType.FILE) return { type: 'file', path: await volume.getPath({ timeoutMs }) };
  if (type === StorageVolType.BLOCK) return { type: 'block', path: await volume.getPath({ timeoutMs }) };
  return { type: 'volume', pool: volume.pool, volume: volume.name };
}

/**
 * The volume behind a disk, as the host's pools know it.
 * @throws {DriverError} unsupported, where it is none of theirs: what is not in a pool is not ours to delete.
 */
export async function volumeOf(hypervisor: Hypervisor, { source }: Disk, timeoutMs: number): Promise<StorageVolume> {
  const none = (cause?: unknown): DriverError =>
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
    if (isLibvirtError(error, 'NO_STORAGE_VOL', 'NO_STORAGE_POOL')) throw none(error);
    throw error;
  }
  throw none();
}

/** A pool with many volumes takes its time to look at them. */
const REFRESH_TIMEOUT_MS = 60_000;

/**
 * Name of a volume, in any pool that runs, that is based on this one; null: there is none. The XML of a machine that is off does not
 * say what its disks are based on, but the pools do.
 */
export async function basedOn(
  hypervisor: Hypervisor,
  volume: StorageVolume,
  timeoutMs: number,
): Promise<string | null> {
  const path = await volume.getPath({ timeoutMs });
  // What was made beside libvirt, a snapshot mostly, is known after a look alone. A pool that is at work refuses to look.
  const own = await hypervisor.storagePoolLookupByName(volume.pool, { timeoutMs });
  await own.refresh({ timeoutMs: REFRESH_TIMEOUT_MS }).catch(() => undefined);
  for (const pool of await hypervisor.listAllStoragePools(ConnectListAllStoragePoolsFlags.ACTIVE, { timeoutMs })) {
    for (const other of await pool.listAllVolumes({ timeoutMs })) {
      if ((await basisOf(other, timeoutMs)) === path) return other.name;
    }
  }
  return null;
}

async function basisOf(volume: StorageVolume, timeoutMs: number): Promise<string | null> {
  try {
    return textOf(child(parseXml(await volume.getXmlDesc({ timeoutMs })).root, 'backingStore', 'path'));
  } catch (error) {
    // It went while we looked.
    if (isLibvirtError(error, 'NO_STORAGE_VOL')) return null;
    throw error;
  }
}
