/**
 * The password file as it is now. It is read at the start, where every fault stops the daemon, and again when it changes, where
 * no fault may: then the lines that are right hold, and nobody else comes in. An older copy is never used: whoever was taken
 * out of the file is out, even if another line was damaged by the same edit, and a file that is gone lets nobody in.
 */
import { statSync } from 'node:fs';
import type { Log } from '@rackless/daemon/log.js';
import { removeLeftovers } from '@rackless/daemon/replace-file.js';
import { fileReason } from '@rackless/daemon/text-file.js';
import { parseHtpasswd, type Htpasswd, type HtpasswdEntry } from './htpasswd.js';
import { readPasswordText } from './password-text.js';

/** The file can not be used. `faults` has one line each, beginning with the file's name. */
export class PasswordFileError extends Error {
  override readonly name = 'PasswordFileError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[], cause?: unknown) {
    super(faults.join('; '), cause === undefined ? undefined : { cause });
    this.faults = faults;
  }
}

/** What the file says, with its warnings as lines that begin with its name. */
export interface PasswordFileContents {
  readonly entries: ReadonlyMap<string, HtpasswdEntry>;
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

export interface PasswordFile {
  /** Who may come in, by name. Looks whether the file changed, at most once in the interval. */
  entries(): ReadonlyMap<string, HtpasswdEntry>;
  /** Looks now, whatever the interval. */
  refresh(): void;
}

/**
 * Reads the file once.
 * @throws {PasswordFileError} where it can not be read; faults of its lines are in the result.
 */
export function readPasswordFile(path: string): PasswordFileContents {
  let text: string;
  try {
    text = readPasswordText(path);
  } catch (error) {
    throw new PasswordFileError([`${path}: the password file can not be read: ${fileReason(error)}`], error);
  }
  const { entries, faults, warnings }: Htpasswd = parseHtpasswd(text);
  const located = (list: Htpasswd['faults']) => list.map(({ line, message }) => `${path}:${line}: ${message}`);
  const empty =
    entries.size === 0 && faults.length === 0 ? [`${path}: the password file has no user: nobody can log in`] : [];
  return { entries, faults: located(faults), warnings: [...located(warnings), ...empty] };
}

/** What changes with the file: an editor may keep the time, a restored copy the size, a rewrite in place the inode. */
function fingerprint(path: string): string {
  try {
    const { ino, dev, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(':');
  } catch (error) {
    // Reading it says why; here it matters only that it is not what it was.
    return `unreadable: ${fileReason(error)}`;
  }
}

export interface PasswordFileOptions {
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Milliseconds that only go forward. */
  readonly now: () => number;
  /** How long a look at the file holds, in milliseconds. */
  readonly checkEveryMs: number;
}

/**
 * Opens the file for the daemon's life. Nothing has to be closed.
 * @throws {PasswordFileError} where the file can not be read or any line is at fault: a start must not guess.
 */
export function openPasswordFile(path: string, options: PasswordFileOptions): PasswordFile {
  const { log, now, checkEveryMs } = options;
  for (const leftover of removeLeftovers(path)) log.warn(`removed ${leftover}, which a killed process left`);
  let seen = fingerprint(path);
  const first = readPasswordFile(path);
  if (first.faults.length > 0) throw new PasswordFileError(first.faults);
  for (const warning of first.warnings) log.warn(warning);
  let entries = first.entries;
  let checkedAt = now();

  const reload = () => {
    try {
      const contents = readPasswordFile(path);
      entries = contents.entries;
      for (const fault of contents.faults) log.error(`${fault}; this line lets nobody in`);
      for (const warning of contents.warnings) log.warn(warning);
      log.info('password file read again', { file: path, users: entries.size });
    } catch (error) {
      entries = new Map();
      log.error('nobody can log in until the password file can be read', { error });
    }
  };
  const look = (time: number) => {
    checkedAt = time;
    // Before the file is read: if it changes in between, the next look sees that.
    const current = fingerprint(path);
    if (current === seen) return;
    seen = current;
    reload();
  };
  return {
    entries() {
      const time = now();
      if (time - checkedAt >= checkEveryMs) look(time);
      return entries;
    },
    refresh: () => look(now()),
  };
}
