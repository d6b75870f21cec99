/** Errors of reading and writing data that the daemon must store. */
import { errorCode } from '@rackless/daemon/error-code.js';

/**
 * A file cannot be written or read. The message contains the file and the reason; `cause` is the
 * error of node:fs.
 */
export class StorageError extends Error {
  override readonly name: string = 'StorageError';
}

/** The disk is full, the quota is used up, or the file would exceed the limit of its size. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Returns whether an error or one of its causes means that the storage is full. */
export function isStorageFull(error: unknown): boolean {
  if (FULL.has(errorCode(error))) return true;
  return typeof error === 'object' && error !== null && 'cause' in error && isStorageFull(error.cause);
}
