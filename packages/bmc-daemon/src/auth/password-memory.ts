/** Remembers passwords without bcrypt: keyed digests of those that were right, and of those that were wrong. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Account } from './accounts.js';
import { MAX_PASSWORD_BYTES } from './bcrypt-password.js';
import { RecentMap } from './recent-map.js';

/** Wrong passwords to remember. */
const MAX_KNOWN_WRONG = 10_000;

/** The passwords of one process. It is bounded, and a digest is useless without the process's key. */
export class PasswordMemory {
  readonly #key = randomBytes(32);
  /** Digest by user. Only users with an account are in it. */
  readonly #right = new Map<string, Buffer>();
  /** The reason, by digest and address. */
  readonly #wrong = new RecentMap<string, string>(MAX_KNOWN_WRONG);

  /**
   * Returns the digest of a password.
   * @param hash of the account; empty if there is none. A change of the password file makes another digest.
   */
  digest(hash: string, user: string, password: Buffer): Buffer {
    return (
      createHmac('sha256', this.#key)
        .update(`${hash}:${user}\n`)
        // bcrypt ignores the rest, so it must not distinguish two digests.
        .update(password.subarray(0, MAX_PASSWORD_BYTES))
        .digest()
    );
  }

  /** Returns a short key of texts of any length. */
  keyOf(...texts: readonly string[]): string {
    return createHmac('sha256', this.#key).update(JSON.stringify(texts)).digest('base64');
  }

  rememberRight(user: string, digest: Buffer): void {
    this.#right.set(user, digest);
  }

  isRight({ user }: Account, digest: Buffer): boolean {
    const known = this.#right.get(user);
    return known !== undefined && timingSafeEqual(known, digest);
  }

  /**
   * A client that keeps sending an old password learns nothing new from bcrypt. Another client must not learn that this one has
   * tried it, so it is known to the same address alone.
   */
  rememberWrong(digest: Buffer, address: string, reason: string): void {
    this.#wrong.set(wrongKey(digest, address), reason);
  }

  wrongReason(digest: Buffer, address: string): string | undefined {
    return this.#wrong.get(wrongKey(digest, address));
  }
}

function wrongKey(digest: Buffer, address: string): string {
  return `${digest.toString('base64')} ${address}`;
}
