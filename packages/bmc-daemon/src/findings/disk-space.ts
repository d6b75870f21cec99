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

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/** Returns a size for people, such as `1.5 GiB`. */
export function sizeText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : Number(value.toFixed(1))} ${UNITS[unit] ?? ''}`;
}
