/** Finds the folder on the path of a file that this process cannot enter, or that does not exist. */
import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** Returns the paths of a folder and of its parents below the root folder, topmost first. */
export function foldersOnPath(directory: string): readonly string[] {
  const parts = path.resolve(directory).split('/').slice(1);
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
}

/**
 * Follows the path to a file. Returns the first folder that does not exist or that this process cannot enter; null if
 * there is none.
 */
export const closedFolder = (file: string): string | null =>
  foldersOnPath(path.dirname(file)).find((folder) => !mayEnter(folder)) ?? null;

function mayEnter(folder: string): boolean {
  try {
    accessSync(folder, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
