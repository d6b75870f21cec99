/** Advice for a user whose account the local libvirt rejects. */
import { errorCode } from '@rackless/daemon/error-code.js';
import { isLibvirtError } from '@rackless/libvirt';
import type { HostAccount } from '../../host/account.js';
import { isOnThisHost } from './connection-uri.js';

/**
 * Returns advice with the command that gives the account access to libvirt.
 * @param failure the error of the connection attempt.
 * @returns null for root, for a failure with another cause, and for libvirt on another host, where
 *   the account may not exist.
 */
export function accessHint(failure: unknown, uri: string, account: HostAccount): string | null {
  if (account.uid === 0 || !isOnThisHost(uri) || !isRefusal(failure)) return null;
  return (
    `libvirt on this host rejects the account ${account.name}: ` +
    `run "sudo usermod -aG libvirt ${account.name}", log in again, and restart bmc-daemon`
  );
}

/** Returns whether an error, or one of its causes, says that the socket, polkit or the login rejects the account. */
export function isRefusal(failure: unknown): boolean {
  if (isLibvirtError(failure, 'AUTH_FAILED', 'AUTH_UNAVAILABLE', 'AUTH_CANCELLED')) return true;
  if (errorCode(failure) === 'EACCES') return true;
  if (typeof failure !== 'object' || failure === null) return false;
  if ('errors' in failure && Array.isArray(failure.errors) && failure.errors.some(isRefusal)) return true;
  return 'cause' in failure && isRefusal(failure.cause);
}
