/** The advice for a libvirt that runs on this host and refuses the account of this process. */
import { errorCode } from '@rackless/daemon/error-code.js';
import { isLibvirtError } from '@rackless/libvirt';

/** The account that libvirt refused. */
export interface Account {
  readonly uid: number;
  readonly name: string;
}

/**
 * The command that admits the account to libvirt.
 * @param failure why there is no connection.
 * @returns null where something else is the reason. An account may have no way in to another host, so this is about this host only.
 */
export function accessHint(failure: unknown, uri: string, account: Account): string | null {
  if (account.uid === 0 || !isLocal(uri) || !isRefusal(failure)) return null;
  return (
    `libvirt runs here, but does not admit the account ${account.name}: ` +
    `run "sudo usermod -aG libvirt ${account.name}", log in again, and restart bmc-daemon`
  );
}

/** `qemu:///system`, `qemu+unix:///system?socket=…`: no host between the slashes. */
function isLocal(uri: string): boolean {
  return /^[^/]*:\/\/\//.test(uri);
}

/** The socket's mode (EACCES), or polkit. */
function isRefusal(failure: unknown): boolean {
  if (isLibvirtError(failure, 'AUTH_FAILED', 'AUTH_UNAVAILABLE', 'AUTH_CANCELLED')) return true;
  if (errorCode(failure) === 'EACCES') return true;
  if (typeof failure !== 'object' || failure === null) return false;
  if ('errors' in failure && Array.isArray(failure.errors) && failure.errors.some(isRefusal)) return true;
  return 'cause' in failure && isRefusal(failure.cause);
}
