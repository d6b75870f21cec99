/** Reports whether there is a connection to libvirt, and why there is none. */
import type { Hypervisor } from '@rackless/libvirt';
import { thisAccount } from '../../host/account.js';
import { accessHint } from './access-hint.js';
import { oneLine } from './failure.js';

/** Returns whether calls fail at once: there is no connection, and the first attempt has ended. */
export function isDisconnected({ state, lastError }: Pick<Hypervisor, 'state' | 'lastError'>): boolean {
  return state !== 'connected' && !(state === 'connecting' && lastError === null);
}

/** Returns advice if the local libvirt rejects the account of this process, else null (see {@link accessHint}). */
export function connectionRefusal(error: unknown, uri: string): string | null {
  return accessHint(error, uri, thisAccount());
}

/** Returns in one line why there is no connection. */
export function connectionFault({ lastError }: Pick<Hypervisor, 'lastError'>, uri: string): string {
  return connectionRefusal(lastError, uri) ?? oneLine(lastError?.message ?? 'the connection is closed');
}
