/** Small files that people write: read whole, as UTF-8, with a reason that people understand where that fails. */
import { readFileSync } from 'node:fs';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'there is no room left on the device',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would exceed the limit of its size',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8',
};

/** Why a file can not be had, from what node:fs threw: `there is no such file`. */
export function fileReason(error: unknown): string {
  // By shape and not by class: an error of another realm (a test's) is none of this realm's Error.
  if (typeof error !== 'object' || error === null) return String(error);
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return (typeof code === 'string' ? REASONS[code] : undefined) ?? String(message);
}

/**
 * The text of a file. A byte order mark is left out.
 * @throws {Error} whose message is the reason alone, {@link fileReason}.
 */
export function readTextFile(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    throw new Error(fileReason(error), { cause: error });
  }
}
