/** Errors of writing data that the daemon must store. */
import { errorCode } from '@rackless/daemon/error-code.js';

/** A file cannot be written or read. The message names the file and the reason; the `cause` is what node:fs threw. */
export class StorageError extends Error {
  override readonly name: string = 'StorageError';
}

/** The disk is full, the quota is used up, or the file would exceed the limit of its size. */
const FULL: ReadonlySet<string | undefined> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Returns whether there was no room. */
export function isOutOfRoom(error: unknown): boolean {
  if (FULL.has(errorCode(error))) return true;
  return typeof error === 'object' && error !== null && 'cause' in error && isOutOfRoom(error.cause);
}
