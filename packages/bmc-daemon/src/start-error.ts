/** Why the service does not start, and whether another attempt may succeed. */
import { errorCode } from '@rackless/daemon/error-code.js';
import { exitCode } from '@rackless/daemon/exit-code.js';
import { ListenError } from '@rackless/daemon/listener.js';
import { FolderInUseError } from './state-lock.js';

/** The service cannot start. The message is one line for the person who started it. */
export class StartError extends Error {
  override readonly name = 'StartError';

  /** 78 if only a person can correct the cause, 1 if the cause may pass: systemd starts the service again after 1 only. */
  get exitCode(): number {
    return mayPass(this) ? exitCode.failed : exitCode.configuration;
  }
}

/** Errors of a host that lacks room, handles or memory at the moment, or whose device or file server does not answer. */
const passing: ReadonlySet<string | undefined> = new Set([
  ...['ENOSPC', 'EDQUOT', 'EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'EINTR'],
  ...['EIO', 'ESTALE', 'ETIMEDOUT', 'EHOSTDOWN', 'ENETDOWN', 'ENETUNREACH', 'ENOTCONN'],
]);

/** A port becomes free, an address appears, another daemon ends, and a disk gets room. Files stay damaged. */
function mayPass(error: unknown): boolean {
  if (error instanceof ListenError || error instanceof FolderInUseError) return true;
  if (passing.has(errorCode(error))) return true;
  return typeof error === 'object' && error !== null && 'cause' in error && mayPass(error.cause);
}
