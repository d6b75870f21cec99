/** Replaces small files as a whole: a reader, or the next start after a crash, finds the old text or the new one. */
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
} from 'node:fs';
import path from 'node:path';
import { performance } from 'node:perf_hooks';
import { readTextFile } from './text-file.js';

/** Another process has written the file since it was read. */
export class FileChangedError extends Error {
  override readonly name = 'FileChangedError';
}

export interface ReplaceOptions {
  /** The old text (`''`: there was no file) that the new one was made from. */
  readonly basedOn?: string;
}

/** A new text that is on the disk beside its file. Exactly one of the two has to be called. */
export interface PreparedFile {
  /**
   * Puts the new text in place. It needs no room on the disk.
   * @throws {FileChangedError} if the file no longer says what `basedOn` says, or another process is replacing it by this function.
   *   `htpasswd` and editors take no lock, so what they write within the same few microseconds is not seen.
   * @throws what node:fs throws; then the old file is as it was.
   */
  commit(): void;
  /** Removes the new text. */
  discard(): void;
}

/**
 * Writes the new text of a file beside it. So a change of several files can find out that one of them cannot be written before it
 * has changed any. A new file is for its owner alone (mode 0600). An old file keeps its mode and owner, a link to it stays a link.
 * A new file that root makes belongs to the owner of its folder: a service can read what `sudo` puts into the folder of its account.
 * @throws what node:fs throws; then nothing is left beside the file.
 */
export function prepareFile(file: string, text: string, { basedOn }: ReplaceOptions = {}): PreparedFile {
  const old = statSync(file, { throwIfNoEntry: false });
  const target = old === undefined ? file : realpathSync(file);
  const folder = path.dirname(target);
  // In the same folder: a rename is atomic only within a file system.
  const next = path.join(folder, `.${path.basename(target)}.${randomBytes(6).toString('hex')}`);
  const discard = (): void => rmSync(next, { force: true });
  try {
    writeNew(next, text);
    const owner = old ?? ownerOfFolder(target);
    if (owner !== undefined) {
      // Only root may change an owner, so a file that has the right one already is left alone.
      const mine = statSync(next);
      if (owner.uid !== mine.uid || owner.gid !== mine.gid) chownSync(next, owner.uid, owner.gid);
    }
    if (old !== undefined) chmodSync(next, old.mode & 0o7777);
  } catch (error) {
    discard();
    throw error;
  }
  return {
    commit() {
      try {
        if (basedOn === undefined) renameSync(next, target);
        else replaceIfUnchanged(next, target, basedOn, file);
      } finally {
        discard();
      }
      syncFolder(folder);
    },
    discard,
  };
}

/**
 * Replaces the text of a file, as {@link prepareFile} and {@link PreparedFile.commit}. It is on the disk when this returns, after
 * a few milliseconds.
 * @throws as those two.
 */
export function replaceFile(file: string, text: string, options: ReplaceOptions = {}): void {
  prepareFile(file, text, options).commit();
}

/**
 * Removes the files that a killed process left beside a file that it was replacing. Only a file with the exact form of our names is
 * removed, that belongs to this user or to the owner of the file, and that is older than this process: a younger one may be the
 * work of a process that still runs.
 * @returns their paths. A file that cannot be removed is left out: it does no harm.
 */
export function removeLeftovers(file: string): readonly string[] {
  try {
    const old = statSync(file, { throwIfNoEntry: false });
    const target = old === undefined ? file : realpathSync(file);
    const start = `.${path.basename(target)}.`;
    const isOurs = (name: string): boolean =>
      name.startsWith(start) && /^(?:[0-9a-f]{12}|lock)$/.test(name.slice(start.length));
    return removeFrom(path.dirname(target), isOurs, (old ?? ownerOfFolder(target))?.uid);
  } catch {
    // There is no such folder, or this user may not read it.
    return [];
  }
}

/**
 * Removes the files that a killed process left in a folder, by the same rules as {@link removeLeftovers}: they belong to this user or
 * to the owner of the folder, and are older than this process.
 * @param isOurs whether a file with this name is such a file.
 * @returns as {@link removeLeftovers}.
 */
export function removeLeftoversIn(folder: string, isOurs: (name: string) => boolean): readonly string[] {
  try {
    return removeFrom(folder, isOurs, statSync(folder).uid);
  } catch {
    // There is no such folder, or this user may not read it.
    return [];
  }
}

/** @throws what node:fs throws for the folder. */
function removeFrom(folder: string, isOurs: (name: string) => boolean, owner: number | undefined): readonly string[] {
  return readdirSync(folder)
    .filter(isOurs)
    .map((name) => path.join(folder, name))
    .filter((leftover) => isLeftover(leftover, [process.geteuid?.(), owner]) && isRemoved(leftover));
}

function isLeftover(leftover: string, owners: readonly (number | undefined)[]): boolean {
  const found = lstatSync(leftover, { throwIfNoEntry: false });
  return found !== undefined && found.isFile() && owners.includes(found.uid) && found.mtimeMs < performance.timeOrigin;
}

function isRemoved(leftover: string): boolean {
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

/** Puts a rename on the disk: without this, a power failure may bring the old name back. */
function syncFolder(folder: string): void {
  try {
    const handle = openSync(folder, 'r');
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {
    // Some file systems cannot do it. The file is replaced already, so this is not a failure.
  }
}

/** The owner of a new file; undefined: the account of this process, because it is not root. */
function ownerOfFolder(file: string): { readonly uid: number; readonly gid: number } | undefined {
  return process.getuid?.() === 0 ? statSync(path.dirname(file)) : undefined;
}

/**
 * Replaces the file unless it changed. If two processes try this at the same moment, one of them succeeds.
 * @param file its name, for people.
 */
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

/** A lock is held for microseconds: an older one was left by a crash. */
const LOCK_HOLDS_MS = 10_000;

/** @returns false if another process has it. */
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

/** Empty if there is no file. */
function textOf(file: string): string {
  return statSync(file, { throwIfNoEntry: false }) === undefined ? '' : readTextFile(file);
}
