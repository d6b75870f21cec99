/** Files of the libvirt host, which the daemon reads itself or through libvirt. */
import { access, readFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ConnectListAllStoragePoolsFlags, isLibvirtError, type Hypervisor, type StoragePool } from '@rackless/libvirt';
import { encodeText } from './xml/escape.js';

/** Prefix of the names of temporary pools. They exist only while the daemon reads and writes files. */
const POOL_PREFIX = 'rackless-variables-';

/** Maximum size of a file. OVMF's files of variables have 128 or 528 KiB, AAVMF's file has 64 MiB. */
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** Files of the host on which libvirt runs. */
export interface HostFiles {
  /** True if libvirt runs on the host of the daemon. */
  readonly areLocal: boolean;
  /** Returns whether this process can see a file; null for a file of another host. */
  exists(path: string): Promise<boolean | null>;
  /**
   * Returns the contents of a small file.
   * @throws {Error} if it cannot be read; on another host, also if it has more than 64 MiB.
   */
  read(path: string): Promise<Buffer>;
}

/** The files of this host. */
export const localFiles: HostFiles = {
  areLocal: true,
  exists: async (path) => {
    try {
      await access(path);
      return true;
    } catch {
      // A file that this process cannot see is treated as missing.
      return false;
    }
  },
  read: (path) => readFile(path),
};

/** Returns access to the files of another host. libvirt reads them, and never says whether a file exists. */
export function remoteFiles(hypervisor: Hypervisor, timeoutMs: number): HostFiles {
  return {
    areLocal: false,
    exists: () => Promise.resolve(null),
    read: (path) =>
      withPoolOfDirectory(hypervisor, dirname(path), timeoutMs, (pool) => readVolume(pool, basename(path), timeoutMs)),
  };
}

/**
 * Returns the contents of a file in a pool of type directory.
 * @throws {Error} if the file has more than 64 MiB; {LibvirtError} if libvirt cannot read it.
 */
export async function readVolume(pool: StoragePool, name: string, timeoutMs: number): Promise<Buffer> {
  const volume = await pool.storageVolLookupByName(name, { timeoutMs });
  const { capacityBytes } = await volume.getInfo({ timeoutMs });
  if (capacityBytes > MAX_FILE_BYTES) throw new Error(`reading ${name}: it has more than ${MAX_FILE_BYTES} bytes`);
  return await buffer(await volume.download({}, { timeoutMs }));
}

/**
 * Calls `use` with a pool of a directory of the host. Refreshes an existing pool first. If libvirt has no pool
 * for the directory, creates one, and removes it after the call.
 * @throws {LibvirtError} if libvirt has no access to the directory, does not answer, or cannot remove the pool that
 *   this call created; the errors of `use`.
 */
export async function withPoolOfDirectory<Result>(
  hypervisor: Hypervisor,
  directory: string,
  timeoutMs: number,
  use: (pool: StoragePool) => Promise<Result>,
): Promise<Result> {
  const existing = await hypervisor.storagePoolLookupByTargetPath(directory, { timeoutMs }).catch((error: unknown) => {
    if (isLibvirtError(error, 'NO_STORAGE_POOL')) return null;
    throw error;
  });
  if (existing !== null) {
    await existing.refresh({ timeoutMs });
    return await use(existing);
  }
  const target = `<target><path>${encodeText(directory)}</path></target>`;
  const xml = `<pool type='dir'><name>${POOL_PREFIX}${randomUUID()}</name>${target}</pool>`;
  const temporary = await hypervisor.storagePoolCreateXml(xml, 0, { timeoutMs });
  try {
    return await use(temporary);
  } finally {
    // Ends the transient pool. The directory is not removed.
    await temporary.destroy({ timeoutMs });
  }
}

/** Removes temporary pools that a daemon left behind when it ended. @throws {LibvirtError} */
export async function removeLeftoverPools(hypervisor: Hypervisor, timeoutMs: number): Promise<void> {
  for (const pool of await hypervisor.listAllStoragePools(ConnectListAllStoragePoolsFlags.ACTIVE, { timeoutMs })) {
    if (pool.name.startsWith(POOL_PREFIX)) await pool.destroy({ timeoutMs });
  }
}
