/** Replaces a file like replace-file.ts, while other work of the process continues. */
import { renameSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { placeOf, setOwnerAndMode, type PreparedFile } from './replace-file.js';

/** A new text on the disk, which {@link prepareFileInBackground} has written. Call either `commit` or `discard`. */
interface BackgroundFile extends Pick<PreparedFile, 'discard'> {
  /**
   * Replaces the file before it returns. The promise resolves when the replacement is on the disk.
   * @throws the error of node:fs, at once and not through the promise; the file is then unchanged.
   */
  commit(): Promise<void>;
}

/**
 * Does the same as {@link prepareFile}. Other work of the process continues while the disk writes, so use it
 * for large or frequent writes.
 * @throws the error of node:fs; then there is no new file on the disk.
 */
export async function prepareFileInBackground(file: string, text: string): Promise<BackgroundFile> {
  const place = placeOf(file);
  const { temporary, target, discard } = place;
  try {
    // `flush` writes the text to the disk before the file is closed.
    await writeFile(temporary, text, { flag: 'wx', mode: 0o600, flush: true });
    setOwnerAndMode(place);
  } catch (error) {
    discard();
    throw error;
  }
  return {
    commit() {
      try {
        renameSync(temporary, target);
      } finally {
        discard();
      }
      return syncFolder(path.dirname(target));
    },
    discard,
  };
}

/** Writes a rename to the disk. Without this call, a power failure may undo the rename. */
async function syncFolder(folder: string): Promise<void> {
  try {
    const handle = await open(folder, 'r');
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch {
    // Some file systems do not support this. The file is replaced, so the caller gets no error.
  }
}
