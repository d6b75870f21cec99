/**
 * bcrypt with a limit: it takes a tenth of a second of a core by design, on libuv's four threads, which file reads and name
 * look-ups need too. So two run at a time, a bounded number waits, and equal questions are asked once.
 */
import { compare } from 'bcrypt';

/** The queue is full. The client may try again shortly. */
export class BusyError extends Error {
  override readonly name = 'BusyError';
}

export interface BcryptGate {
  /**
   * Whether a password has this hash. Waits for its turn.
   * @param password bytes as the client sent them, UTF-8; bcrypt sees the first 72.
   * @param hash `$2a$`, `$2b$` or `$2y$`.
   * @throws {BusyError} when too many wait.
   */
  verify(password: Buffer, hash: string): Promise<boolean>;
}

/** bcrypt's own limit. What stands behind it never counted, in any implementation. */
export const MAX_PASSWORD_BYTES = 72;

/** What bcrypt is asked: the part that counts, under the prefix that the library knows. */
async function compareHash(password: Buffer, hash: string): Promise<boolean> {
  // A NUL ends the password for some implementations and not for others, so no password has one.
  if (password.includes(0)) return false;
  // $2y$ is the same as $2b$ (crypt_blowfish's name for it); the bcrypt package answers false for it. Cut at 72 here because
  // the package counts the length of a $2a$ password in one byte, as the oldest implementation did.
  return compare(password.subarray(0, MAX_PASSWORD_BYTES), hash.replace(/^\$2y\$/, '$2b$'));
}

/**
 * @param limits `concurrent`: how many run at once; `waiting`: how many more may wait.
 */
export function createBcryptGate(limits: { readonly concurrent: number; readonly waiting: number }): BcryptGate {
  let running = 0;
  const queue: (() => void)[] = [];

  return {
    async verify(password, hash) {
      if (running >= limits.concurrent) {
        if (queue.length >= limits.waiting) throw new BusyError('too many passwords are being verified');
        // Whoever ends hands its place over, so `running` stays as it is.
        await new Promise<void>((resolve) => queue.push(resolve));
      } else {
        running += 1;
      }
      try {
        return await compareHash(password, hash);
      } finally {
        const next = queue.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
