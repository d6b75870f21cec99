/** Adds, changes and removes users of an htpasswd file, and leaves all other lines unchanged. */
import { hash } from 'bcrypt';
import { statSync } from 'node:fs';
import { FileChangedError, prepareFile, type PreparedFile } from '@rackless/daemon/files/replace-file.js';
import { fileReason } from '@rackless/daemon/files/text-file.js';
import { StorageError } from '../storage-error.js';
import { MAX_PASSWORD_BYTES } from './bcrypt-password.js';
import { readPasswordText } from './password-text.js';

/** The error for an invalid user name or password; the message gives the reason. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
  readonly about: 'user' | 'password';

  constructor(about: 'user' | 'password', reason: string) {
    super(reason);
    this.about = about;
  }
}

/** The error for a password file that cannot be written; the message names the file. */
export class PasswordFileWriteError extends StorageError {
  override readonly name = 'PasswordFileWriteError';
}

/**
 * bcrypt's cost: a hash takes about a quarter of a second. After each start, the daemon spends this
 * time on the first login of a user; then it caches a digest of the password.
 */
const COST = 12;
/** Maximum number of tries to write an edit while other processes change the file. */
const ATTEMPTS = 5;

/**
 * Checks a user name.
 * @throws {CredentialsError} for a name that the file or the URI of an account cannot contain.
 */
export function checkUser(user: string): void {
  if (user === '') throw new CredentialsError('user', 'a user needs a name');
  if (user.includes(':'))
    throw new CredentialsError(
      'user',
      'a user name cannot contain a colon, which ends the name in HTTP and in the file',
    );
  // In the file, a line break would end the user's line.
  if (/\p{Cc}/u.test(user)) throw new CredentialsError('user', 'a user name cannot contain control characters');
  // A lone surrogate is written as U+FFFD, so the file and the state file would have different
  // names.
  if (/\p{Cs}/u.test(user))
    throw new CredentialsError('user', 'a user name cannot contain half a character (a lone surrogate)');
  if (user.startsWith('#'))
    throw new CredentialsError('user', 'a user name cannot begin with #: the line would be a comment');
  // A byte order mark at the start of the file does not count as part of the first name.
  if (user.startsWith('\uFEFF')) throw new CredentialsError('user', 'a user name cannot begin with a byte order mark');
  if (user === '.' || user === '..')
    throw new CredentialsError('user', "a user name cannot be . or ..: clients remove them from the account's URI");
  // POST to Accounts/Members creates an account, so no client could read or delete an account at
  // that URI.
  if (user === 'Members')
    throw new CredentialsError('user', 'a user name cannot be Members: that URI belongs to the collection of accounts');
}

/**
 * Checks a password.
 * @throws {CredentialsError} for a password that bcrypt would use only in part.
 */
function checkPassword(password: string): void {
  if (password.includes('\0')) throw new CredentialsError('password', 'a password cannot contain NUL');
  const bytes = Buffer.byteLength(password);
  if (bytes > MAX_PASSWORD_BYTES)
    throw new CredentialsError(
      'password',
      `the password has ${bytes} bytes, and bcrypt uses only the first ${MAX_PASSWORD_BYTES}`,
    );
}

/** Returns the file's text with the user's line in place of all old lines of the user, or at the end. */
export function withUserLine(text: string, user: string, line: string): string {
  const lines = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  const isUsers = (candidate: string) => candidate.startsWith(`${user}:`);
  const first = lines.findIndex(isUsers);
  // Removes further lines of the same user, because they would take effect if the first line were
  // removed.
  const remaining = lines.filter((candidate, index) => index === first || !isUsers(candidate));
  if (first === -1) remaining.push(line);
  else remaining[first] = line;
  return `${remaining.join('\n')}\n`;
}

/**
 * Returns the file's text with the user renamed, with the same password; unchanged if the user is
 * unknown.
 */
export function withRenamedUser(text: string, user: string, name: string): string {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${user}:`));
  if (line === undefined) return text;
  return withUserLine(text, user, `${name}${line.slice(user.length)}`);
}

/** Returns the file's text without the user's lines. */
export function withoutUser(text: string, user: string): string {
  const isUsers = (candidate: string) => candidate.startsWith(`${user}:`);
  return text
    .split('\n')
    .filter((candidate) => !isUsers(candidate))
    .join('\n');
}

/**
 * Returns a user's line with a new hash, computed in libuv's threads.
 * @throws {CredentialsError} for an invalid name or password.
 */
export async function userLine(user: string, password: string): Promise<string> {
  checkUser(user);
  checkPassword(password);
  return `${user}:${await hash(password, COST)}`;
}

/**
 * A prepared change of the password file, stored next to it. Call exactly one of the two methods.
 */
interface PasswordFileEdit {
  /**
   * Applies the change.
   * @returns the previous text.
   * @throws {PasswordFileWriteError} also if other processes change the file again at each attempt.
   */
  commit(): string;
  /** Removes the prepared change. */
  discard(): void;
}

/**
 * Prepares a change of the file's text. The file is replaced atomically, so a reader sees the old
 * or the new file. A new file is readable for its owner only; an existing file keeps its mode and
 * owner. A concurrent change by `htpasswd` or an editor is preserved: `commit` applies the edit
 * again, with at most 5 attempts.
 * @throws {PasswordFileWriteError} if the file cannot be read or written.
 */
export function preparePasswordFile(file: string, edit: (text: string) => string): PasswordFileEdit {
  const prepare = (): { readonly before: string; readonly next: PreparedFile } => {
    const before = statSync(file, { throwIfNoEntry: false }) === undefined ? '' : readPasswordText(file);
    return { before, next: prepareFile(file, edit(before), { basedOn: before }) };
  };
  let prepared = withWriteError(file, prepare);
  return {
    commit: () =>
      withWriteError(file, () => {
        for (let attempt = 1; ; attempt += 1) {
          try {
            prepared.next.commit();
            return prepared.before;
          } catch (error) {
            if (!(error instanceof FileChangedError) || attempt === ATTEMPTS) throw error;
            prepared = prepare();
          }
        }
      }),
    discard: () => prepared.next.discard(),
  };
}

function withWriteError<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new PasswordFileWriteError(`writing ${file}: ${fileReason(error)}`, { cause: error });
  }
}

/**
 * Adds a user or changes a password, as {@link preparePasswordFile} does.
 * @returns `added` for a new user, else `changed`.
 * @throws {CredentialsError} or {@link PasswordFileWriteError}.
 */
export async function setPassword(file: string, user: string, password: string): Promise<'added' | 'changed'> {
  const line = await userLine(user, password);
  const before = preparePasswordFile(file, (text) => withUserLine(text, user, line)).commit();
  return before.split('\n').some((candidate) => candidate.startsWith(`${user}:`)) ? 'changed' : 'added';
}
