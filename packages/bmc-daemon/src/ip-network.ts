/** IP addresses and networks as values: one spelling for each, and what lies in what. */
import { isIP, isIPv4 } from 'node:net';

/** `192.0.2.0/24`: the address may be any of the network's. */
export interface IpNetwork {
  readonly address: string;
  /** Bits of the network: 0 to 32, or to 128. */
  readonly prefix: number;
}

/** The one spelling of an address (RFC 5952); undefined for what is none. A zone (`%eth0`) makes it none. */
export function canonicalIp(text: string): string | undefined {
  const family = isIP(text);
  if (family === 0 || text.includes('%')) return undefined;
  return family === 4 ? text : new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/** Of a socket that takes both families: `::ffff:192.0.2.1` is the IPv4 address of its peer. Others stay as they are. */
export function unmappedIp(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/** The eight groups of an IPv6 address, as they are written; those that `::` stands for are `0`. */
export function ipv6Groups(address: string): readonly string[] {
  const [head = '', tail] = address.split('::');
  const groups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array<string>(zeros).fill('0'), ...after];
}

/** Bits of an address of that family. */
export function addressBits(address: string): 32 | 128 {
  return isIPv4(address) ? 32 : 128;
}

/** Whether the two have an address in common. */
export function overlap(a: IpNetwork, b: IpNetwork): boolean {
  if (isIPv4(a.address) !== isIPv4(b.address)) return false;
  const bits = addressBits(a.address);
  const shift = BigInt(bits - Math.min(a.prefix, b.prefix));
  return numberOf(a.address) >> shift === numberOf(b.address) >> shift;
}

/** Whether an address can be a host's: not the network's own one, nor its broadcast address. */
export function isHostAddress({ address, prefix }: IpNetwork): boolean {
  const bits = addressBits(address);
  // RFC 3021, RFC 6164: a network of two has neither.
  if (prefix >= bits - 1) return true;
  const mask = (1n << BigInt(bits - prefix)) - 1n;
  const host = numberOf(address) & mask;
  // IPv6 has no broadcast; the first address is every router's (RFC 4291 §2.6.1).
  return host !== 0n && (bits === 128 || host !== mask);
}

/** Of `255.255.255.0` 24; undefined for what is no mask. */
export function prefixOfMask(mask: string): number | undefined {
  if (!isIPv4(mask)) return undefined;
  const inverse = 0xffffffffn ^ numberOf(mask);
  // What is left out has to be ones without a gap.
  if ((inverse & (inverse + 1n)) !== 0n) return undefined;
  return 32 - inverse.toString(2).replace(/^0$/, '').length;
}

function numberOf(address: string): bigint {
  if (isIPv4(address)) return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
  return ipv6Groups(canonicalIp(address) ?? '::').reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}
