/** Puts users into an htpasswd file, or takes them out, and leaves everything else in it as it is. */
import { hash } from 'bcrypt';
import { statSync } from 'node:fs';
import { FileChangedError, prepareFile, type PreparedFile } from '@rackless/daemon/replace-file.js';
import { fileReason } from '@rackless/daemon/text-file.js';
import { StorageError } from '../storage-error.js';
import { MAX_PASSWORD_BYTES } from './bcrypt-password.js';
import { readPasswordText } from './password-text.js';

/** The user or the password can not be taken; the message says why. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
  readonly about: 'user' | 'password';

  constructor(about: 'user' | 'password', reason: string) {
    super(reason);
    this.about = about;
  }
}

/** The password file cannot be written; the message names it. */
export class PasswordFileWriteError extends StorageError {
  override readonly name = 'PasswordFileWriteError';
}

/** About a quarter of a second: it is spent once for each user and start of the daemon. */
const COST = 12;
/** How often an edit is begun anew because somebody else edits the file just then. */
const ATTEMPTS = 5;

/** @throws {CredentialsError} for a name that the format can not hold. */
export function checkUser(user: string): void {
  if (user === '') throw new CredentialsError('user', 'a user needs a name');
  if (user.includes(':'))
    throw new CredentialsError('user', "a user's name has no colon: it ends the name in HTTP and in the file");
  // The format has no way to write such a line.
  if (/\p{Cc}/u.test(user)) throw new CredentialsError('user', "a user's name has no control characters");
  // Half of a pair is written as U+FFFD: another name than the one that its role is kept of.
  if (/\p{Cs}/u.test(user)) throw new CredentialsError('user', "a user's name is whole characters");
  if (user.startsWith('#'))
    throw new CredentialsError('user', "a user's name does not begin with #: the line would be a comment");
  // At the start of a file it would not be read as part of the name.
  if (user.startsWith('\uFEFF'))
    throw new CredentialsError('user', "a user's name does not begin with a byte order mark");
  if (user === '.' || user === '..')
    throw new CredentialsError('user', "a user's name is neither . nor ..: clients take them out of the account's URI");
  // POST to Accounts/Members creates an account, so no client could read or delete an account at that URI.
  if (user === 'Members')
    throw new CredentialsError('user', "a user's name is not Members: that URI belongs to the collection of accounts");
}

/** @throws {CredentialsError} for a password of which a part would not count. */
function checkPassword(password: string): void {
  if (password.includes('\0')) throw new CredentialsError('password', 'a password has no NUL');
  const bytes = Buffer.byteLength(password);
  if (bytes > MAX_PASSWORD_BYTES)
    throw new CredentialsError(
      'password',
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

/** The text of the file with the user by another name, and the same password; as it was where it has no such user. */
export function withRenamedUser(text: string, user: string, name: string): string {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${user}:`));
  if (line === undefined) return text;
  return withUserLine(text, user, `${name}${line.slice(user.length)}`);
}

/** The text of the file without the user's lines. */
export function withoutUser(text: string, user: string): string {
  const isUsers = (candidate: string) => candidate.startsWith(`${user}:`);
  return text
    .split('\n')
    .filter((candidate) => !isUsers(candidate))
    .join('\n');
}

/** A user's line with a fresh hash; the work is done in libuv's threads. */
export async function userLine(user: string, password: string): Promise<string> {
  checkUser(user);
  checkPassword(password);
  return `${user}:${await hash(password, COST)}`;
}

/** A change of the password file that is on the disk beside it. Exactly one of the two has to be called. */
export interface PasswordFileEdit {
  /** Puts the change in place. @returns the text as it was. @throws {PasswordFileWriteError} */
  commit(): string;
  /** Forgets the change. */
  discard(): void;
}

/**
 * Prepares a change of the text of the file. The file is replaced as a whole, so a daemon that reads it meanwhile sees the old one
 * or the new one. A new file is for its owner alone, an old one keeps its mode and owner. What `htpasswd` or an editor writes in
 * the meantime is built upon, not lost.
 * @throws {PasswordFileWriteError}
 */
export function preparePasswordFile(file: string, edit: (text: string) => string): PasswordFileEdit {
  const prepare = (): { readonly before: string; readonly next: PreparedFile } => {
    const before = statSync(file, { throwIfNoEntry: false }) === undefined ? '' : readPasswordText(file);
    return { before, next: prepareFile(file, edit(before), { basedOn: before }) };
  };
  let prepared = writing(file, prepare);
  return {
    commit: () =>
      writing(file, () => {
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

function writing<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw new PasswordFileWriteError(`writing ${file}: ${fileReason(error)}`, { cause: error });
  }
}

/**
 * Adds a user or changes a password, as {@link preparePasswordFile}.
 * @returns whether the user is new.
 * @throws {CredentialsError} or {@link PasswordFileWriteError}.
 */
export async function setPassword(file: string, user: string, password: string): Promise<'added' | 'changed'> {
  const line = await userLine(user, password);
  const before = preparePasswordFile(file, (text) => withUserLine(text, user, line)).commit();
  return before.split('\n').some((candidate) => candidate.startsWith(`${user}:`)) ? 'changed' : 'added';
}
