/** Writes a small file as a whole: whoever reads it meanwhile, or after a crash, has the old text or the new one. */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { readTextFile } from './text-file.js';

/** Somebody else has written the file since it was read. */
export class FileChangedError extends Error {
  override readonly name = 'FileChangedError';
}

/**
 * Replaces the text of a file, or makes it for its owner alone (mode 0600). An old file keeps its mode and owner, a link to it
 * stays a link. A new file that root makes belongs to the owner of its folder: a service can read what `sudo` puts into the folder of
 * its account. Done when it returns, also for the disk: a few milliseconds.
 * @param basedOn the old text (`''`: there was none) that the new one was made from.
 * @throws {FileChangedError} where the file says something else by now, or somebody else is replacing it by this function. There is
 *   no lock that `htpasswd` or an editor would keep to, so what they write within the same few microseconds is not seen.
 * @throws what node:fs throws; the old file is as it was then, and nothing is left beside it.
 */
export function replaceFile(file: string, text: string, { basedOn }: { readonly basedOn?: string } = {}): void {
  const old = statSync(file, { throwIfNoEntry: false });
  const target = old === undefined ? file : realpathSync(file);
  // In the same folder: a rename is atomic only within a file system.
  const next = path.join(path.dirname(target), `.${path.basename(target)}.${randomBytes(6).toString('hex')}`);
  try {
    const handle = openSync(next, 'wx', 0o600);
    try {
      writeFileSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    const owner = old ?? ownerOfFolder(target);
    if (owner !== undefined) {
      // Only root may change an owner, so a file that has the right one already is left alone.
      const mine = statSync(next);
      if (owner.uid !== mine.uid || owner.gid !== mine.gid) chownSync(next, owner.uid, owner.gid);
    }
    if (old !== undefined) chmodSync(next, old.mode & 0o7777);
    if (basedOn === undefined) renameSync(next, target);
    else replaceIfUnchanged(next, target, basedOn, file);
  } finally {
    rmSync(next, { force: true });
  }
}

/** Whom a new file belongs to; undefined: the account of this process, because it is not root. */
function ownerOfFolder(file: string): { readonly uid: number; readonly gid: number } | undefined {
  return process.getuid?.() === 0 ? statSync(path.dirname(file)) : undefined;
}

/** Of two processes that find the file unchanged at the same moment one alone may replace it. @param file its name, for people. */
function replaceIfUnchanged(next: string, target: string, basedOn: string, file: string): void {
  const changed = new FileChangedError(`${file} was changed meanwhile`);
  const lock = path.join(path.dirname(target), `.${path.basename(target)}.lock`);
  if (!takeLock(lock)) throw changed;
  try {
    if (textOf(target) !== basedOn) throw changed;
    renameSync(next, target);
  } finally {
    rmSync(lock, { force: true });
  }
}

/** A lock is held for microseconds: one that is older is what a crash has left. */
const LOCK_HOLDS_MS = 10_000;

/** @returns false where somebody else has it. */
function takeLock(lock: string): boolean {
  const heldSince = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (heldSince !== undefined && Date.now() - heldSince > LOCK_HOLDS_MS) rmSync(lock, { force: true });
  try {
    closeSync(openSync(lock, 'wx', 0o600));
    return true;
  } catch (error) {
    if (typeof error === 'object' && error !== null && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

/** Empty where there is no file. */
function textOf(file: string): string {
  return statSync(file, { throwIfNoEntry: false }) === undefined ? '' : readTextFile(file);
}
