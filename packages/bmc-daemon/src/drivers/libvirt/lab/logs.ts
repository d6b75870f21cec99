/** Logs of machines on the host: the output of the serial port, and libvirt's log of QEMU. */
import type { Hypervisor } from '@rackless/libvirt';
import { isSession } from '../connection-uri.js';
import { withPoolOfDirectory } from '../host-files.js';
import { deleteVolume } from '../volumes/disk-volume.js';
import { reasonOf } from './lab-error.js';

/** Folder of libvirt's own logs, where virtlogd and the access rules of the host let a guest write. */
const FOLDER = '/var/log/libvirt/qemu';

/**
 * Returns the file for the output of a serial port; null on the libvirt of a user, whose folder is unknown.
 * @param uri the connection URI.
 */
export function serialLogOf(uri: string, machine: string): string | null {
  return isSession(uri) ? null : `${FOLDER}/${machine}-serial0.log`;
}

/**
 * Removes the logs of machines, also the older files that virtlogd makes of them.
 * @returns why logs are left, one sentence: a log is no reason to fail. An empty list after success.
 */
export async function removeLogs(
  hypervisor: Hypervisor,
  timeoutMs: number,
  machines: readonly string[],
): Promise<readonly string[]> {
  const files = new Set(machines.flatMap((machine) => [`${machine}.log`, `${machine}-serial0.log`]));
  try {
    await withPoolOfDirectory(hypervisor, FOLDER, timeoutMs, async (pool) => {
      for (const volume of await pool.listAllVolumes({ timeoutMs })) {
        if (files.has(volume.name.replace(/\.\d+$/, ''))) await deleteVolume(volume);
      }
    });
    return [];
  } catch (error) {
    return [`logs in ${FOLDER} are left: ${reasonOf(error)}`];
  }
}
