/** Caches the results of bcrypt: keyed digests of right and of wrong passwords. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Account } from './account-list.js';
import { MAX_PASSWORD_BYTES } from '../password-file/bcrypt-password.js';
import { RecentMap } from './recent-map.js';

/** Maximum number of wrong passwords in the cache. */
const MAX_KNOWN_WRONG = 10_000;

/**
 * The password cache of one process. It has one digest for each user who has logged in, and a
 * limited number of wrong passwords. A digest is useless without the process's key.
 */
export class PasswordMemory {
  readonly #key = randomBytes(32);
  /**
   * Digests by user. A digest stays when its account is removed or changed: the hash of the account
   * is part of the digest, so the digest matches no later password.
   */
  readonly #right = new Map<string, Buffer>();
  /** Reasons by digest and client network. */
  readonly #wrong = new RecentMap<string, string>(MAX_KNOWN_WRONG);

  /**
   * Returns the digest of a password.
   * @param hash the account's hash; empty without an account. It is part of the digest, so a new
   *   hash in the password file makes a new digest.
   */
  digest(hash: string, user: string, password: Buffer): Buffer {
    return (
      createHmac('sha256', this.#key)
        .update(`${hash}:${user}\n`)
        // bcrypt ignores the bytes after MAX_PASSWORD_BYTES, so the digest must ignore them too.
        .update(password.subarray(0, MAX_PASSWORD_BYTES))
        .digest()
    );
  }

  /** Returns a short key for texts of any length. */
  keyOf(...texts: readonly string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(texts)).digest('base64');
  }

  /** Caches the digest of a right password. It replaces the earlier digest of this user. */
  rememberRight(user: string, digest: Buffer): void {
    this.#right.set(user, digest);
  }

  /** Returns whether the digest is that of the cached right password. False: the password must be verified. */
  isRight({ user }: Account, digest: Buffer): boolean {
    const rightDigest = this.#right.get(user);
    return rightDigest !== undefined && timingSafeEqual(rightDigest, digest);
  }

  /**
   * Caches a wrong password, because some clients send an old password again and again. The entry is valid
   * only for one client network, so that other clients cannot find out which passwords this client has tried.
   * @param address the network of the client, as `clientNetwork` returns it.
   */
  rememberWrong(digest: Buffer, address: string, reason: string): void {
    this.#wrong.set(wrongKey(digest, address), reason);
  }

  /** Returns why a cached password is wrong; undefined if it is not in the cache. */
  wrongReason(digest: Buffer, address: string): string | undefined {
    return this.#wrong.get(wrongKey(digest, address));
  }
}

function wrongKey(digest: Buffer, address: string): string {
  return `${digest.toString('base64')} ${address}`;
}
