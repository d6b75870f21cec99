/**
 * Compares passwords with bcrypt hashes. One comparison occupies one of libuv's four threads for 50
 * to 250 ms; {@link AttemptQueue} runs at most two comparisons at a time.
 */
import { compare } from 'bcrypt';

/** bcrypt ignores every byte after this many, in every implementation. */
export const MAX_PASSWORD_BYTES = 72;

/**
 * Returns whether a password has the given hash; false for a password with a NUL.
 * @param password bytes as the client sent them, UTF-8; bcrypt reads the first 72.
 * @param hash `$2a$`, `$2b$` or `$2y$`.
 */
export async function isPassword(password: Buffer, hash: string): Promise<boolean> {
  // Some implementations end the password at a NUL and others do not, so passwords with a NUL are
  // rejected.
  if (password.includes(0)) return false;
  // $2y$ is crypt_blowfish's name for $2b$; the bcrypt package rejects it. The password is cut at 72
  // bytes, because for $2a$ the package stores the length in one byte, like the oldest
  // implementation.
  return compare(password.subarray(0, MAX_PASSWORD_BYTES), hash.replace(/^\$2y\$/, '$2b$'));
}
