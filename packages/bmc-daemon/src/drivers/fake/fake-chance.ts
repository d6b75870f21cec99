/** Pseudo-random numbers that depend only on a seed and on keys, not on the order of the calls. */
import { createHash } from 'node:crypto';

/**
 * Returns a pseudo-random number from 0 (inclusive) to 1 (exclusive). The same arguments give the same number.
 * @param keys what the number is for, such as the machine and the number of its call.
 */
export function drawOf(seed: number, ...keys: readonly (string | number)[]): number {
  const hash = createHash('sha256')
    .update(JSON.stringify([seed, ...keys]))
    .digest();
  return hash.readUIntBE(0, 6) / 2 ** 48;
}
