/** Creates session tokens. */
import { randomBytes } from 'node:crypto';

/** 256 bits of the system's random generator. */
const BYTES = 32;

/**
 * Returns a token of 64 hexadecimal digits. Redfish validators test the randomness of one token,
 * and 2 % of random tokens fail. The function drops such a token and generates another one. This
 * costs 0.03 bits of entropy.
 */
export function newSessionToken(): string {
  for (;;) {
    const token = randomBytes(BYTES);
    if (looksRandom(token)) return token.toString('hex');
  }
}

/**
 * Returns whether bytes pass the frequency and the runs test at the level of 0.01.
 * @see NIST SP 800-22, sections 2.1 and 2.3
 */
export function looksRandom(bytes: Uint8Array): boolean {
  const bits = [...bytes].flatMap((byte) => [7, 6, 5, 4, 3, 2, 1, 0].map((place) => (byte >> place) & 1));
  const length = bits.length;
  const ones = bits.reduce((sum, bit) => sum + bit, 0);
  // The level 0.01 is reached at the 99.5th percentile of the normal distribution: erfc(x / sqrt 2)
  // = 0.01.
  if (Math.abs(2 * ones - length) / Math.sqrt(length) > NORMAL_995) return false;
  const share = ones / length;
  const runs = bits.filter((bit, index) => index === 0 || bit !== bits[index - 1]).length;
  const spread = 2 * share * (1 - share);
  return Math.abs(runs - length * spread) / (Math.sqrt(length) * spread) <= NORMAL_995;
}

/** The 99.5th percentile of the standard normal distribution. */
const NORMAL_995 = 2.575829;
