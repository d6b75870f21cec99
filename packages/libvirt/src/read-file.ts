import { readFile } from 'node:fs/promises';
import { toError } from './errors.js';

/**
 * Reads a file; undefined if there is no such file.
 * @throws {Error} with the path of an unreadable file.
 */
export async function readIfPresent(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (cause) {
    const error = toError(cause);
    if ('code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR')) return undefined;
    throw new Error(`reading ${path}: ${error.message}`, { cause });
  }
}
