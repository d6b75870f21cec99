/** Whether there is a connection to libvirt, and why not. */
import { userInfo } from 'node:os';
import type { Hypervisor } from '@rackless/libvirt';
import { accessHint, type Account } from './access-hint.js';

/** Returns whether calls fail at once: there is no connection, and the first attempt has ended. */
export function isDisconnected({ state, lastError }: Pick<Hypervisor, 'state' | 'lastError'>): boolean {
  return state !== 'connected' && !(state === 'connecting' && lastError === null);
}

/** Returns the advice if libvirt rejects the account of this process, else null. */
export function connectionRefusal(error: unknown, uri: string): string | null {
  return accessHint(error, uri, thisAccount());
}

/**
 * Returns the account of this process. Without a name, as in some containers, its number is its
 * name.
 */
function thisAccount(): Account {
  const uid = process.getuid?.() ?? 0;
  try {
    return { uid, name: userInfo().username };
  } catch {
    return { uid, name: String(uid) };
  }
}
