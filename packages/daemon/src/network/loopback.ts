import { isIP } from 'node:net';

/**
 * Returns true for loopback addresses, which only this host can reach, and for `localhost`. Other
 * host names are not resolved.
 */
export function isLoopback(address: string): boolean {
  if (isIP(address) === 0) return address.toLowerCase() === 'localhost';
  return address === '::1' || /^(::ffff:)?127\./i.test(address);
}
