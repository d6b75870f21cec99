/** Reads small UTF-8 files and describes file errors in plain words. */
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
  EFBIG: 'the file would exceed the file size limit',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is not UTF-8',
};

/** Describes an error of node:fs in plain words, for example `there is no such file`. */
export function fileReason(error: unknown): string {
  // No `instanceof Error`: it is false for errors of another realm, which jest uses.
  if (typeof error !== 'object' || error === null) return String(error);
  const { code, message } = error as { readonly code?: unknown; readonly message?: unknown };
  return (typeof code === 'string' ? REASONS[code] : undefined) ?? String(message);
}

/**
 * Reads a UTF-8 file, without its byte order mark.
 * @throws {Error} whose message is only the reason, as {@link fileReason} returns it.
 */
export function readTextFile(path: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    throw new Error(fileReason(error), { cause: error });
  }
}
