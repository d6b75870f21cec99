/**
 * The current password file. Any fault prevents the start of the daemon. After a later change,
 * faulty lines are ignored and the valid lines apply. The daemon never uses an older copy: a
 * removed user cannot log in even if the same edit damaged another line, and without the file no
 * user can log in.
 */
import { statSync } from 'node:fs';
import type { Log } from '@rackless/daemon/log/log.js';
import { removeLeftovers } from '@rackless/daemon/files/replace-file.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import { parseHtpasswd, type Htpasswd, type HtpasswdEntry } from './htpasswd.js';
import { readPasswordText } from './password-text.js';

/**
 * The error for an unusable password file. Each fault is one line that begins with the file's name.
 */
export class PasswordFileError extends Error {
  override readonly name = 'PasswordFileError';
  readonly faults: readonly string[];

  constructor(faults: readonly string[], cause?: unknown) {
    super(faults.join('; '), cause === undefined ? undefined : { cause });
    this.faults = faults;
  }
}

/** The parsed file; each fault and warning begins with the file's name. */
interface PasswordFileContents {
  readonly entries: ReadonlyMap<string, HtpasswdEntry>;
  readonly faults: readonly string[];
  readonly warnings: readonly string[];
}

/** A password file that is read again when it changes. */
export interface PasswordFile {
  /** Returns the users by name. Checks whether the file changed, at most once per interval. */
  entries(): ReadonlyMap<string, HtpasswdEntry>;
  /** Checks now whether the file changed. If it did, reads it again. */
  refresh(): void;
}

/**
 * Reads the file once.
 * @throws {PasswordFileError} if it is unreadable; faults of its lines are in the result.
 */
export function readPasswordFile(path: string): PasswordFileContents {
  let text: string;
  try {
    text = readPasswordText(path);
  } catch (error) {
    throw new PasswordFileError([`${path}: the password file cannot be read: ${fileReason(error)}`], error);
  }
  const { entries, faults, warnings }: Htpasswd = parseHtpasswd(text);
  const located = (list: Htpasswd['faults']) => list.map(({ line, message }) => `${path}:${line}: ${message}`);
  const empty =
    entries.size === 0 && faults.length === 0 ? [`${path}: the password file has no user, so no user can log in`] : [];
  return { entries, faults: located(faults), warnings: [...located(warnings), ...empty] };
}

/**
 * Returns a text that changes with the file. It consists of several values, because one may stay
 * the same: the time after some edits, the size in a restored copy, the inode after a rewrite in
 * place.
 */
function fingerprint(path: string): string {
  try {
    const { ino, dev, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(':');
  } catch (error) {
    // The next read reports the reason. This text only has to differ from the fingerprint of a readable file.
    return `unreadable: ${fileReason(error)}`;
  }
}

interface PasswordFileOptions {
  readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** The interval between two checks of the file, in milliseconds. */
  readonly checkEveryMs: number;
}

/**
 * Opens the file for the life of the daemon. Needs no close.
 * @throws {PasswordFileError} if the file is unreadable or any line is faulty.
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
      for (const fault of contents.faults) log.error(`${fault}; this line is ignored`);
      for (const warning of contents.warnings) log.warn(warning);
      log.info('password file reloaded', { file: path, users: entries.size });
    } catch (error) {
      entries = new Map();
      log.error('no user can log in until the password file is readable', { error });
    }
  };
  const check = (time: number) => {
    checkedAt = time;
    // Takes the fingerprint before it reads the file, so that the next check notices a change in between.
    const current = fingerprint(path);
    if (current === seen) return;
    seen = current;
    reload();
  };
  return {
    entries() {
      const time = now();
      if (time - checkedAt >= checkEveryMs) check(time);
      return entries;
    },
    refresh: () => check(now()),
  };
}
