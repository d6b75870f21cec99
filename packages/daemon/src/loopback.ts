/** Who can reach an address that is listened at. */
import { isIP } from 'node:net';

/** Whether only this machine reaches the address; `localhost` is one, another host name is not. */
export function isLoopback(address: string): boolean {
  if (isIP(address) === 0) return address.toLowerCase() === 'localhost';
  return address === '::1' || /^(::ffff:)?127\./i.test(address);
}
