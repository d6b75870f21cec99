/** Data that had to be stored was not. */

/** A file cannot be written or read. The message names the file and the reason; the `cause` is what node:fs threw. */
export class StorageError extends Error {
  override readonly name: string = 'StorageError';
}

/** The disk is full, the quota is used up, or the file would exceed the limit of its size. */
const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** Returns whether there was no room. */
export function isOutOfRoom(error: unknown): boolean {
  // By shape: an error of another realm (a test's) is no Error of this realm.
  if (typeof error !== 'object' || error === null) return false;
  if ('code' in error && FULL.has(error.code)) return true;
  return 'cause' in error && isOutOfRoom(error.cause);
}
