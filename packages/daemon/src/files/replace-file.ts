/**
 * Replaces small files atomically. A reader, or the next start after a crash, finds either the
 * whole old text or the whole new text.
 */
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
  type Stats,
} from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { errorCode } from '../error-code.js';
import { readTextFile } from './text-file.js';

/** Another process changed the file after the caller read it, or holds its lock. */
export class FileChangedError extends Error {
  override readonly name = 'FileChangedError';
}

/** Options of {@link replaceFile}. */
interface ReplaceOptions {
  /**
   * The old text from which the caller made the new text. `''`: there was no file. Absent: the new
   * text replaces any text.
   */
  readonly basedOn?: string;
}

/** A new text on the disk, next to the file that it replaces. Call either `commit` or `discard`. */
export interface PreparedFile {
  /**
   * Replaces the file. This needs no free disk space.
   * @throws {FileChangedError} if the text of the file differs from `basedOn`, or if another process
   *   commits a text with `basedOn` at the same time. Without `basedOn`, this error does not occur. A
   *   process that crashed during its commit causes the error for up to 10 s. `htpasswd` and editors use no
   *   lock, so a change by them within the same microseconds is lost.
   * @throws the error of node:fs, or of the function that reads the old text; the file is then
   *   unchanged.
   */
  commit(): void;
  /** Removes the new text. */
  discard(): void;
}

/**
 * Writes the new text of a file into a temporary file in the same folder. A caller that changes
 * several files can prepare all of them first and see an error before it changes any.
 *
 * A new file has mode 0600. An existing file keeps its mode and owner, and a link to it stays a link. If
 * root creates a file, it belongs to the owner of its folder. A service can then read what `sudo`
 * writes into its folder.
 * @throws the error of node:fs; then there is no new file on the disk.
 */
export function prepareFile(file: string, text: string, { basedOn }: ReplaceOptions = {}): PreparedFile {
  const place = placeOf(file);
  const { temporary, target, folder, discard } = place;
  try {
    writeNew(temporary, text);
    setOwnerAndMode(place);
  } catch (error) {
    discard();
    throw error;
  }
  return {
    commit() {
      try {
        if (basedOn === undefined) renameSync(temporary, target);
        else replaceIfUnchanged(temporary, target, basedOn, file);
      } finally {
        discard();
      }
      syncFolder(folder);
    },
    discard,
  };
}

/** A temporary file next to the file that it will replace. */
interface Place {
  /** The file, or the file that the link `file` names. */
  readonly target: string;
  readonly folder: string;
  readonly temporary: string;
  /** Undefined if there is no file yet. */
  readonly oldStatus: Stats | undefined;
  /** Removes the temporary file. */
  readonly discard: () => void;
}

/** Chooses the name of the temporary file. @throws the error of node:fs if the file cannot be examined. */
export function placeOf(file: string): Place {
  const oldStatus = statSync(file, { throwIfNoEntry: false });
  const target = oldStatus === undefined ? file : realpathSync(file);
  const folder = path.dirname(target);
  // In the same folder: a rename is atomic only within a file system.
  const temporary = path.join(folder, `.${path.basename(target)}.${randomBytes(6).toString('hex')}`);
  return { target, folder, temporary, oldStatus, discard: () => rmSync(temporary, { force: true }) };
}

/**
 * Gives the temporary file the owner and the mode of the file that it replaces. If there is no such file and this
 * process is root, the temporary file gets the owner of its folder.
 * @throws the error of node:fs.
 */
export function setOwnerAndMode({ target, temporary, oldStatus }: Place): void {
  const owner = oldStatus ?? ownerForNewFile(target);
  if (owner !== undefined) {
    // Calls `chown` only if the owner is wrong, because only root may call it.
    const current = statSync(temporary);
    if (owner.uid !== current.uid || owner.gid !== current.gid) chownSync(temporary, owner.uid, owner.gid);
  }
  if (oldStatus !== undefined) chmodSync(temporary, oldStatus.mode & 0o7777);
}

/**
 * Replaces the text of a file with {@link prepareFile} and {@link PreparedFile.commit}. The new
 * text is on the disk when the function returns, after a few milliseconds.
 * @throws the errors of both functions.
 */
export function replaceFile(file: string, text: string, options: ReplaceOptions = {}): void {
  prepareFile(file, text, options).commit();
}

/**
 * Removes temporary files and the lock file of {@link prepareFile} that a killed process left
 * behind. The name must have the exact format, and the owner must be this user or the owner of
 * `file`. Each file must be older than this process: a newer one may belong to a running process.
 * @returns the paths of the removed files. A file that cannot be removed is ignored.
 */
export function removeLeftovers(file: string): readonly string[] {
  try {
    const oldStatus = statSync(file, { throwIfNoEntry: false });
    const target = oldStatus === undefined ? file : realpathSync(file);
    const prefix = `.${path.basename(target)}.`;
    const isTemporary = (name: string): boolean =>
      name.startsWith(prefix) && /^(?:[0-9a-f]{12}|lock)$/.test(name.slice(prefix.length));
    return removeFrom(path.dirname(target), isTemporary, (oldStatus ?? ownerForNewFile(target))?.uid);
  } catch {
    // The folder does not exist, or this user may not read it.
    return [];
  }
}

/**
 * Removes temporary files that a killed process left in a folder. As in {@link removeLeftovers},
 * the files must be older than this process and belong to this user or to the owner of the folder.
 * @param isTemporary returns true for the name of a temporary file.
 * @returns the paths of the removed files.
 */
export function removeLeftoversIn(folder: string, isTemporary: (name: string) => boolean): readonly string[] {
  try {
    return removeFrom(folder, isTemporary, statSync(folder).uid);
  } catch {
    // The folder does not exist, or this user may not read it.
    return [];
  }
}

/** @throws the error of node:fs if the folder cannot be listed. */
function removeFrom(
  folder: string,
  isTemporary: (name: string) => boolean,
  owner: number | undefined,
): readonly string[] {
  return readdirSync(folder)
    .filter(isTemporary)
    .map((name) => path.join(folder, name))
    .filter((leftover) => isLeftover(leftover, [process.geteuid?.(), owner]) && tryRemove(leftover));
}

function isLeftover(leftover: string, owners: readonly (number | undefined)[]): boolean {
  const status = lstatSync(leftover, { throwIfNoEntry: false });
  return (
    status !== undefined && status.isFile() && owners.includes(status.uid) && status.mtimeMs < performance.timeOrigin
  );
}

function tryRemove(leftover: string): boolean {
  try {
    rmSync(leftover, { force: true });
    return true;
  } catch {
    return false;
  }
}

function writeNew(file: string, text: string): void {
  const handle = openSync(file, 'wx', 0o600);
  try {
    writeFileSync(handle, text);
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** Writes a rename to the disk. Without this call, a power failure may undo the rename. */
function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, 'r');
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {
    // Some file systems do not support this. The file is replaced, so the caller gets no error.
  }
}

/** Returns the owner for a new file. undefined: this process is not root and cannot choose. */
function ownerForNewFile(file: string): { readonly uid: number; readonly gid: number } | undefined {
  return process.getuid?.() === 0 ? statSync(path.dirname(file)) : undefined;
}

/**
 * Replaces the file unless it changed. If two processes try this at the same time, only one
 * succeeds.
 * @param file the name of the file for the error message.
 * @throws as {@link PreparedFile.commit}.
 */
function replaceIfUnchanged(temporary: string, target: string, basedOn: string, file: string): void {
  const changed = new FileChangedError(`${file} was changed meanwhile`);
  const lock = path.join(path.dirname(target), `.${path.basename(target)}.lock`);
  if (!takeLock(lock)) throw changed;
  try {
    if (textOf(target) !== basedOn) throw changed;
    renameSync(temporary, target);
  } finally {
    rmSync(lock, { force: true });
  }
}

/**
 * A process holds the lock for microseconds. A lock older than this belongs to a crashed process.
 */
const MAX_LOCK_AGE_MS = 10_000;

/**
 * Tries to create the lock file. Removes the lock of a crashed process first. Returns false if
 * another process holds the lock.
 * @throws the error of node:fs if the file cannot be created for another reason.
 */
function takeLock(lock: string): boolean {
  const heldSince = statSync(lock, { throwIfNoEntry: false })?.mtimeMs;
  if (heldSince !== undefined && Date.now() - heldSince > MAX_LOCK_AGE_MS) rmSync(lock, { force: true });
  try {
    closeSync(openSync(lock, 'wx', 0o600));
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Returns the text of a file, or `''` if the file does not exist. @throws as {@link readTextFile}. */
function textOf(file: string): string {
  return statSync(file, { throwIfNoEntry: false }) === undefined ? '' : readTextFile(file);
}
