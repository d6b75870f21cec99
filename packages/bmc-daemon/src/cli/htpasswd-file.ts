/** Puts one user's password into an htpasswd file and leaves everything else in it as it is. */
import { hash } from 'bcrypt';
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
  type Stats,
} from 'node:fs';
import path from 'node:path';
import { fileReason, readTextFile } from '@rackless/daemon/text-file.js';
import { MAX_PASSWORD_BYTES } from '../auth/bcrypt-gate.js';

/** The user or the password can not be taken, or the file not be written; the message says why. */
export class HtpasswdFileError extends Error {
  override readonly name = 'HtpasswdFileError';
}

/** About a quarter of a second: it is spent once for each user and start of the daemon. */
const COST = 12;

function checkUser(user: string): void {
  if (user === '') throw new HtpasswdFileError('a user needs a name');
  if (user.includes(':'))
    throw new HtpasswdFileError("a user's name has no colon: it ends the name in HTTP and in the file");
  // The format has no way to write such a line.
  if (/\p{Cc}/u.test(user)) throw new HtpasswdFileError("a user's name has no control characters");
  if (user.startsWith('#'))
    throw new HtpasswdFileError("a user's name does not begin with #: the line would be a comment");
}

function checkPassword(password: string): void {
  if (password.includes('\0')) throw new HtpasswdFileError('a password has no NUL');
  const bytes = Buffer.byteLength(password);
  if (bytes > MAX_PASSWORD_BYTES)
    throw new HtpasswdFileError(
      `the password has ${bytes} bytes, and bcrypt looks at the first ${MAX_PASSWORD_BYTES} only`,
    );
}

/** The text of the file with the user's line in it: in the place of the old one, or at the end. */
export function withUserLine(text: string, user: string, line: string): string {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  const isUsers = (candidate: string) => candidate.startsWith(`${user}:`);
  const first = lines.findIndex(isUsers);
  // A second line of the same user would come back when the first is taken out.
  const kept = lines.filter((candidate, index) => index === first || !isUsers(candidate));
  if (first === -1) kept.push(line);
  else kept[first] = line;
  return `${kept.join('\n')}\n`;
}

/**
 * Adds a user or changes a password. The file is replaced as a whole, so a daemon that reads it meanwhile sees the old one or the
 * new one; a new file is for its owner alone, an old one keeps its mode and owner.
 * @returns whether the user is new.
 * @throws {HtpasswdFileError}
 */
export async function setPassword(file: string, user: string, password: string): Promise<'added' | 'changed'> {
  checkUser(user);
  checkPassword(password);
  const line = `${user}:${await hash(password, COST)}`;
  try {
    // A link stays a link.
    const old = statSync(file, { throwIfNoEntry: false });
    const target = old === undefined ? file : realpathSync(file);
    const text = old === undefined ? '' : readTextFile(target);
    replaceFile(target, withUserLine(text, user, line), old);
    return text.split('\n').some((candidate) => candidate.startsWith(`${user}:`)) ? 'changed' : 'added';
  } catch (error) {
    throw new HtpasswdFileError(`writing ${file}: ${fileReason(error)}`, { cause: error });
  }
}

function replaceFile(target: string, text: string, old: Stats | undefined): void {
  const next = path.join(path.dirname(target), `.${path.basename(target)}.${randomBytes(6).toString('hex')}`);
  try {
    const handle = openSync(next, 'wx', 0o600);
    try {
      writeFileSync(handle, text);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    if (old !== undefined) {
      // Only root may give a file away, and only somebody else's file needs it.
      const mine = statSync(next);
      if (old.uid !== mine.uid || old.gid !== mine.gid) chownSync(next, old.uid, old.gid);
      chmodSync(next, old.mode & 0o7777);
    }
    renameSync(next, target);
  } finally {
    rmSync(next, { force: true });
  }
}
