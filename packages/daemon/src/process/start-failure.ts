/** The exit code after a failed start. */
import { errorCode } from '../error-code.js';
import { FolderInUseError } from '../files/folder-lock.js';
import { ListenError } from '../network/listener.js';
import { StoreUnavailable } from '../shared-store/store-unavailable.js';
import { exitCode } from './exit-code.js';

/**
 * Temporary errors: no space, handles or memory, or a device or file server that does not answer.
 */
const temporary: ReadonlySet<string | undefined> = new Set([
  ...['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'EINTR'],
  ...['EIO', 'ESTALE', 'ETIMEDOUT', 'EHOSTDOWN', 'ENETDOWN', 'ENETUNREACH', 'ENOTCONN'],
]);

/**
 * Returns the exit code after a start that failed with this error: 1 if the cause may end without a
 * change of the configuration; otherwise 78. systemd restarts the service only after 1.
 */
export function exitCodeOfStart(error: unknown): number {
  return isTemporary(error) ? exitCode.failed : exitCode.configuration;
}

/**
 * Returns whether a cause is temporary: a port or folder in use, a missing address, a full disk, a
 * shared store that does not answer. A damaged file is not temporary. Every fault of a listener, a lock
 * or the shared store counts as temporary. A few of them do not end by themselves, such as a port below
 * 1024 without the privilege for it.
 */
function isTemporary(error: unknown): boolean {
  if (error instanceof ListenError || error instanceof FolderInUseError || error instanceof StoreUnavailable)
    return true;
  if (temporary.has(errorCode(error))) return true;
  return typeof error === 'object' && error !== null && 'cause' in error && isTemporary(error.cause);
}
