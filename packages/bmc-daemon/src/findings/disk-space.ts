/** Free space of file systems. */
import { statfs } from 'node:fs/promises';
import path from 'node:path';
import { errorCode } from '@rackless/daemon/error-code.js';

/** Free space for an account without privileges. */
interface FreeSpace {
  readonly bytes: number;
  /** Files that can still be created; null if the file system has no limit. */
  readonly files: number | null;
}

/**
 * Returns the free space of the file system of a folder, or of its nearest parent that exists.
 * @throws the errors of node:fs, except ENOENT.
 */
export async function freeSpace(folder: string): Promise<FreeSpace> {
  for (let place = path.resolve(folder); ; place = path.dirname(place)) {
    try {
      const { bavail, bsize, ffree, files } = await statfs(place);
      return { bytes: bavail * bsize, files: files === 0 ? null : ffree };
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' || place === path.dirname(place)) throw error;
    }
  }
}
