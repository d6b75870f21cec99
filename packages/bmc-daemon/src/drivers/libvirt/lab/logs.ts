/** Logs of machines on the host: the output of the serial port, and libvirt's log of QEMU. */
import type { Hypervisor } from '@rackless/libvirt';
import { isSession } from '../connection-uri.js';
import { withPoolOfDirectory } from '../host-files.js';
import { deleteVolume } from '../volumes/disk-volume.js';
import { reasonOf } from './lab-error.js';

/** Folder of libvirt's own logs, where virtlogd and the access rules of the host let a guest write. */
const FOLDER = '/var/log/libvirt/qemu';

/**
 * Returns the file for the output of a machine's serial port; null for a session libvirt, whose folder is unknown.
 * @param uri the connection URI.
 * @throws {LibvirtError} INVALID_URI.
 */
export function serialLogOf(uri: string, machine: string): string | null {
  return isSession(uri) ? null : `${FOLDER}/${machine}-serial0.log`;
}

/**
 * Returns the names of the logs of a machine. Logs of two machines can have the same name: the serial log of `a` has
 * the name of QEMU's log of a machine `a-serial0`.
 */
const logsOf = (machine: string): readonly string[] => [`${machine}.log`, `${machine}-serial0.log`];

/**
 * Removes the logs of a machine, also the older files that virtlogd makes of them. Does not
 * remove logs with the name of a log of another machine. Never rejects, because a log that stays is no
 * reason to fail.
 * @returns why logs are left, one sentence each. An empty list after success.
 */
export async function removeLogs(
  hypervisor: Hypervisor,
  timeoutMs: number,
  machine: string,
): Promise<readonly string[]> {
  const reasons = new Set<string>();
  try {
    const all = await hypervisor.listAllDomains(0, { timeoutMs });
    const users = new Map(
      all.flatMap(({ name }) => (name === machine ? [] : logsOf(name).map((log) => [log, name] as const))),
    );
    await withPoolOfDirectory(hypervisor, FOLDER, timeoutMs, async (pool) => {
      for (const volume of await pool.listAllVolumes({ timeoutMs })) {
        const log = volume.name.replace(/\.\d+$/, '');
        if (!logsOf(machine).includes(log)) continue;
        const user = users.get(log);
        if (user === undefined) await deleteVolume(volume);
        else reasons.add(`log ${log} in ${FOLDER} stays: machine ${user} also uses this name`);
      }
    });
  } catch (error) {
    reasons.add(`logs in ${FOLDER} are left: ${reasonOf(error)}`);
  }
  return [...reasons];
}
