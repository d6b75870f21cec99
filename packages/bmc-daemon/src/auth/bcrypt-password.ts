/** Compares a password with a bcrypt hash. It costs 50 to 250 ms of one of libuv's four threads: {@link AttemptQueue} limits it. */
import { compare } from 'bcrypt';

/** bcrypt ignores every byte after this many, in every implementation. */
export const MAX_PASSWORD_BYTES = 72;

/**
 * Returns whether a password has this hash.
 * @param password bytes as the client sent them, UTF-8; bcrypt reads the first 72.
 * @param hash `$2a$`, `$2b$` or `$2y$`.
 */
export async function isPassword(password: Buffer, hash: string): Promise<boolean> {
  // A NUL ends the password in some implementations and not in others, so no password has one.
  if (password.includes(0)) return false;
  // $2y$ is crypt_blowfish's name for $2b$; the bcrypt package answers false for it. The cut at 72 is ours because the package
  // counts the length of a $2a$ password in one byte, as the oldest implementation did.
  return compare(password.subarray(0, MAX_PASSWORD_BYTES), hash.replace(/^\$2y\$/, '$2b$'));
}
