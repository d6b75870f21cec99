/** Names, UUIDs and MAC addresses of machines that an entry of a machine file creates. */
import { createHash } from 'node:crypto';
import { nameUuid } from '../../name-uuid.js';

/** The namespace of the UUIDs. */
const NAMESPACE = Buffer.from('6f0c1f0a6f5b4b2e9a3c2d7e5b8f4a10', 'hex');

const NUMBER = /\{n(?::(\d{1,2}))?\}/g;

/** Returns whether a pattern gives a different text for each machine. */
export function hasNumber(pattern: string): boolean {
  return pattern.search(NUMBER) !== -1;
}

/** Replaces `{n}` by the number of a machine; `{n:4}` has at least four digits. */
export function withNumber(pattern: string, number: number): string {
  return pattern.replace(NUMBER, (_, digits: string | undefined) => String(number).padStart(Number(digits ?? 1), '0'));
}

/** Returns a UUID for the name of a machine, always the same one. */
export const uuidOfName = (name: string): string => nameUuid(NAMESPACE, name);

/** Returns the MAC address of an interface: locally administered, and with 46 bits of a hash. */
export function macOf(uuid: string, index: number): string {
  const bytes = createHash('sha1').update(`${uuid} ${index}`).digest().subarray(0, 6);
  bytes.writeUInt8((bytes.readUInt8(0) & 0xfc) | 0x02, 0);
  return bytes.toString('hex').replace(/..(?=.)/g, '$&:');
}
