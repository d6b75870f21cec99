/** The error of a failed start, and whether another attempt may succeed. */
import { errorCode } from '@rackless/daemon/error-code.js';
import { exitCode } from '@rackless/daemon/process/exit-code.js';
import { ListenError } from '@rackless/daemon/network/listener.js';
import { FolderInUseError } from '@rackless/daemon/files/folder-lock.js';

/** The service cannot start. The message is one line for the administrator. */
export class StartError extends Error {
  override readonly name = 'StartError';

  /**
   * 1 if the cause may end without a change of the configuration; otherwise 78. systemd restarts
   * the service only after 1.
   */
  get exitCode(): number {
    return isTemporary(this) ? exitCode.failed : exitCode.configuration;
  }
}

/**
 * Temporary errors: no space, handles or memory, or a device or file server that does not answer.
 */
const temporary: ReadonlySet<string | undefined> = new Set([
  ...['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'EINTR'],
  ...['EIO', 'ESTALE', 'ETIMEDOUT', 'EHOSTDOWN', 'ENETDOWN', 'ENETUNREACH', 'ENOTCONN'],
]);

/**
 * Returns whether a cause is temporary: a port or folder in use, a missing address, a full disk. A
 * damaged file is not.
 */
function isTemporary(error: unknown): boolean {
  if (error instanceof ListenError || error instanceof FolderInUseError) return true;
  if (temporary.has(errorCode(error))) return true;
  return typeof error === 'object' && error !== null && 'cause' in error && isTemporary(error.cause);
}
