/** Examines whether QEMU can reach the files of a storage pool. */
import { statSync } from 'node:fs';
import { commandLine } from '../../../findings/commands.js';
import { problem, type Finding } from '../../../findings/finding.js';
import type { HostCapabilities } from '../host-capabilities.js';
import { foldersOnPath } from './closed-folder.js';
import type { ExaminedHost } from './examined-host.js';

/**
 * Returns a finding for the first folder in the path of a pool that the account of QEMU cannot
 * enter. libvirt gives QEMU access to the files of a machine, but not to their folders.
 */
export function examinePoolAccess(
  directory: string,
  { qemuAccount }: HostCapabilities,
  host: ExaminedHost,
): readonly Finding[] {
  if (qemuAccount === null || qemuAccount.uid === 0) return [];
  const { uid, gid } = qemuAccount;
  const closed = foldersOnPath(directory).find((folder) => !mayEnter(folder, uid, gid));
  if (closed === undefined) return [];
  const message = `The account of QEMU (${uid}) may not enter ${closed}, so machines with an inserted image cannot start.`;
  return [problem('pool', message, host.asRoot(commandLine('setfacl', '-m', `u:${uid}:x`, closed)))];
}

/**
 * Returns whether an account may enter a folder; true if this process cannot know. `stat` shows the
 * permissions of an access control list as group permissions, so these count for every account but the
 * owner.
 */
function mayEnter(folder: string, uid: number, gid: number): boolean {
  try {
    const { mode, uid: owner, gid: group } = statSync(folder);
    const bits = owner === uid ? mode >> 6 : group === gid ? mode >> 3 : mode | (mode >> 3);
    return (bits & 1) === 1;
  } catch {
    return true;
  }
}
