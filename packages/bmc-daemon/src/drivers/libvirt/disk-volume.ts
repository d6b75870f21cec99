/** Volumes of storage pools as disks: what is behind a disk, and how a volume is written into a definition. */
import {
  isLibvirtError,
  StorageVolType,
  type Hypervisor,
  type StoragePool,
  type StorageVolume,
} from '@rackless/libvirt';
import { DriverError } from '../driver.js';
import type { Provisioning } from '../volume-control.js';
import type { Disk } from './xml/device.js';
import type { DiskPlace } from './xml/disk.js';
import { encodeText } from './xml/parse.js';

/** Taking all of a volume's space may take a while. */
const CREATE_TIMEOUT_MS = 600_000;

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
 * How a definition names a volume. By its path where it has one: the host's access rules (AppArmor) know files and devices, and not
 * every release of them knows volumes.
 */
export async function placeOfVolume(volume: StorageVolume, timeoutMs: number): Promise<DiskPlace> {
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
