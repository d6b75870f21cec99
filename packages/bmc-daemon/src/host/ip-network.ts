/**
 * IP addresses and networks as values: canonical spelling, overlap, and IPv4 addresses inside IPv6
 * addresses.
 */
import { isIP, isIPv4, isIPv6 } from 'node:net';

/** A network: `192.0.2.0/24`. The address may be any address of the network. */
export interface IpNetwork {
  readonly address: string;
  /** Prefix length in bits: 0 to 32, or 0 to 128. */
  readonly prefix: number;
}

/**
 * Returns the canonical spelling of an address (RFC 5952); undefined for text that is not an
 * address, or an address with a zone (`%eth0`).
 */
export function canonicalIp(text: string): string | undefined {
  const family = isIP(text);
  if (family === 0 || text.includes('%')) return undefined;
  return family === 4 ? text : new URL(`http://[${text}]`).hostname.slice(1, -1);
}

/**
 * Returns `192.0.2.1` for `::ffff:192.0.2.1`, which a socket of both families reports. Returns
 * other addresses unchanged.
 */
export function unmappedIp(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

/**
 * Returns the eight groups of an IPv6 address as written, with `0` for each group that `::`
 * replaces.
 */
function ipv6Groups(address: string): readonly string[] {
  const [head = '', tail] = address.split('::');
  const groups = (text: string): readonly string[] => (text === '' ? [] : text.split(':'));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  return [...before, ...Array<string>(zeros).fill('0'), ...after];
}

/** An IPv6 network whose addresses contain IPv4 addresses. */
interface Embedding {
  readonly network: IpNetwork;
  /** The bit, counted from the left, at which each IPv4 address starts. */
  readonly firstBits: readonly number[];
}

const embeddings: readonly Embedding[] = [
  // IPv4-mapped and IPv4-compatible (RFC 4291 §2.5.5), IPv4-translated (SIIT, RFC 2765 §2.1).
  { network: { address: '::ffff:0:0', prefix: 96 }, firstBits: [96] },
  { network: { address: '::', prefix: 96 }, firstBits: [96] },
  { network: { address: '::ffff:0:0:0', prefix: 96 }, firstBits: [96] },
  // NAT64: the well-known prefix (RFC 6052), and the local one (RFC 8215), which a site may divide.
  { network: { address: '64:ff9b::', prefix: 96 }, firstBits: [96] },
  { network: { address: '64:ff9b:1::', prefix: 48 }, firstBits: [48, 56, 64, 96] },
  // 6to4 (RFC 3056). Teredo (RFC 4380): the address of the server. `embeddedIpv4` reads the address
  // of the client, whose bits are inverted.
  { network: { address: '2002::', prefix: 16 }, firstBits: [16] },
  { network: { address: '2001::', prefix: 32 }, firstBits: [32] },
];
const teredo: IpNetwork = { address: '2001::', prefix: 32 };

/**
 * Returns every IPv4 address to which a router or host may translate this IPv6 address. It cannot
 * recognize a translator with a configured prefix.
 * @param address with or without a zone. For an IPv4 address the result is empty.
 */
export function embeddedIpv4(address: string): readonly string[] {
  const [plain = ''] = address.split('%');
  if (!isIPv6(plain)) return [];
  const value = numberOf(plain);
  const isIn = (network: IpNetwork): boolean => overlap({ address: plain, prefix: 128 }, network);
  const found = embeddings
    .filter(({ network }) => isIn(network))
    .flatMap(({ firstBits }) => firstBits.map((bit) => ipv4At(value, bit)));
  if (isIn(teredo)) found.push(ipv4Of((value & IPV4_MASK) ^ IPV4_MASK));
  // ISATAP (RFC 5214 §6.1): the interface identifier is ::0:5efe:192.0.2.1 or ::200:5efe:192.0.2.1,
  // after any prefix.
  if (((value >> 32n) & 0xfdff_ffffn) === 0x5efen) found.push(ipv4At(value, 96));
  return found;
}

const IPV4_MASK = 0xffff_ffffn;

/**
 * Returns the IPv4 address that starts at a bit. Bits 64 to 71 are never part of it: after a prefix
 * shorter than 64 bits, they separate its two parts (RFC 6052 §2.2).
 */
function ipv4At(value: bigint, bit: number): string {
  if (bit <= 32 || bit === 96) return ipv4Of(value >> BigInt(96 - bit));
  const withoutOctet = ((value >> 64n) << 56n) | (value & 0xff_ffff_ffff_ffffn);
  return ipv4Of(withoutOctet >> BigInt(88 - bit));
}

function ipv4Of(value: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join('.');
}

/** Returns the length of an address in bits. */
export function addressBits(address: string): 32 | 128 {
  return isIPv4(address) ? 32 : 128;
}

/** Returns whether two networks have an address in common. */
export function overlap(a: IpNetwork, b: IpNetwork): boolean {
  if (isIPv4(a.address) !== isIPv4(b.address)) return false;
  const bits = addressBits(a.address);
  const shift = BigInt(bits - Math.min(a.prefix, b.prefix));
  return numberOf(a.address) >> shift === numberOf(b.address) >> shift;
}

/**
 * Returns whether a host can have the address: it is neither the network's own address nor its
 * broadcast address.
 */
export function isHostAddress({ address, prefix }: IpNetwork): boolean {
  const bits = addressBits(address);
  // A network of one or two addresses has neither of these addresses (RFC 3021, RFC 6164).
  if (prefix >= bits - 1) return true;
  const mask = (1n << BigInt(bits - prefix)) - 1n;
  const host = numberOf(address) & mask;
  // IPv6 has no broadcast; the first address is that of every router (RFC 4291 §2.6.1).
  return host !== 0n && (bits === 128 || host !== mask);
}

/** Returns the prefix length of a mask: 24 for `255.255.255.0`; undefined for another text. */
export function prefixOfMask(mask: string): number | undefined {
  if (!isIPv4(mask)) return undefined;
  const inverse = 0xffffffffn ^ numberOf(mask);
  // The inverse of a mask is a row of ones without a gap.
  if ((inverse & (inverse + 1n)) !== 0n) return undefined;
  return 32 - inverse.toString(2).replace(/^0$/, '').length;
}

function numberOf(address: string): bigint {
  if (isIPv4(address)) return address.split('.').reduce((sum, part) => (sum << 8n) | BigInt(part), 0n);
  return ipv6Groups(canonicalIp(address) ?? '::').reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

/**
 * Returns the network that counts as one client: an IPv4 address, or the /64 that an IPv6 host
 * owns.
 */
export function clientNetwork(address: string): string {
  const plain = unmappedIp(address).replace(/%.*$/, '');
  return isIPv6(plain) ? `${ipv6Groups(plain).slice(0, 4).join(':')}::/64` : plain;
}

/**
 * Returns a host as URLs contain it: an IPv6 address in brackets.
 * @param host a name, or an address without brackets.
 */
export function urlHost(host: string): string {
  return host.includes(':') ? `[${host}]` : host;
}
