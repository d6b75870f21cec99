/** The mechanism SCRAM-SHA-256 of SASL. @see RFC 5802, RFC 7677 */
import { createHash, createHmac, pbkdf2, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Credentials } from './auth-config.js';

const derive = promisify(pbkdf2);

const HASH = 'sha256';
const HASH_BYTES = 32;
/** RFC 7677 §4 recommends at least 4096 iterations. More than the maximum would cost too much CPU time. */
const MIN_ITERATIONS = 4_096;
const MAX_ITERATIONS = 1_000_000;
/** No channel binding, which libvirt does not use. */
const GS2_HEADER = 'n,,';

/** One exchange. Call `first`, then `answer`, then `verify`. */
export class ScramExchange {
  readonly #credentials: Credentials;
  readonly #nonce: string;
  #expectedSignature: Buffer | null = null;

  /** @param nonce printable characters without a comma; tests pass a fixed one. */
  constructor(credentials: Credentials, nonce = randomBytes(24).toString('base64')) {
    this.#credentials = credentials;
    this.#nonce = nonce;
  }

  /** Returns the first message of the client. */
  first(): string {
    return `${GS2_HEADER}${this.#bareFirst()}`;
  }

  /**
   * Returns the proof for the first message of the server.
   * @throws {Error} if the message is invalid, or requires too few or too many iterations.
   */
  async answer(serverFirst: string): Promise<string> {
    const [, nonce = '', salt = '', count = ''] =
      /^r=([\x21-\x2b\x2d-\x7e]+),s=([A-Za-z0-9+/]+={0,2}),i=(\d{1,9})(?:,.*)?$/.exec(serverFirst) ?? [];
    const iterations = Number(count);
    // RFC 5802 §5.1: the nonce must start with that of the client. The client must also reject a
    // mandatory extension (`m=`), which the pattern does not match.
    if (!nonce.startsWith(this.#nonce) || nonce.length <= this.#nonce.length) {
      throw new Error('SCRAM-SHA-256: the first message of libvirtd is invalid');
    }
    if (iterations < MIN_ITERATIONS || iterations > MAX_ITERATIONS) {
      throw new Error(`SCRAM-SHA-256: libvirtd asks for ${iterations} iterations`);
    }
    const password = this.#credentials.password.normalize('NFKC');
    const salted = await derive(password, Buffer.from(salt, 'base64'), iterations, HASH_BYTES, HASH);
    const clientKey = hmac(salted, 'Client Key');
    const withoutProof = `c=${Buffer.from(GS2_HEADER).toString('base64')},r=${nonce}`;
    const message = `${this.#bareFirst()},${serverFirst},${withoutProof}`;
    const signature = hmac(createHash(HASH).update(clientKey).digest(), message);
    this.#expectedSignature = hmac(hmac(salted, 'Server Key'), message);
    const proof = Buffer.from(clientKey.map((byte, index) => byte ^ (signature[index] ?? 0)));
    return `${withoutProof},p=${proof.toString('base64')}`;
  }

  /**
   * Checks the last message, which proves that the server knows the password.
   * @throws {Error} if the message does not prove this.
   */
  verify(serverFinal: string): void {
    const [, signature] = /^v=([A-Za-z0-9+/]+={0,2})(?:,.*)?$/.exec(serverFinal) ?? [];
    const given = Buffer.from(signature ?? '', 'base64');
    const expected = this.#expectedSignature;
    if (expected === null || given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new Error('SCRAM-SHA-256: libvirtd does not prove that it knows the password');
    }
  }

  #bareFirst(): string {
    // RFC 5802 §5.1: `,` and `=` are escaped.
    const name = this.#credentials.authname.normalize('NFKC').replaceAll('=', '=3D').replaceAll(',', '=2C');
    return `n=${name},r=${this.#nonce}`;
  }
}

function hmac(key: Buffer, data: string): Buffer {
  return createHmac(HASH, key).update(data).digest();
}
