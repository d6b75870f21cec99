/** Parses IP addresses and networks of settings, and tests whether an address is in a network. */
import { BlockList, isIP, isIPv6 } from 'node:net';

/** A network. An address is a network with a single address. */
interface ParsedNetwork {
  readonly address: string;
  /** Length of the prefix in bits: 0 to 32 for IPv4, 0 to 128 for IPv6. */
  readonly prefix: number;
}

/**
 * Parses `10.0.0.0/8`, `2001:db8::/32`, `192.0.2.1` or `::1`. Returns null for other texts, also
 * with a zone (`%eth0`).
 */
export function readNetwork(text: string): ParsedNetwork | null {
  const [, address = '', length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (isIP(address) === 0) return null;
  const maxPrefix = isIPv6(address) ? 128 : 32;
  const prefix = length === undefined ? maxPrefix : Number(length);
  return prefix > maxPrefix ? null : { address, prefix };
}

/**
 * Returns a function that tests whether an address is in one of the networks. It ignores the zone
 * of an address. An IPv4 network also contains addresses such as `::ffff:192.0.2.1`. Ignores texts
 * that are not networks.
 */
export function networkMatcher(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of networks) {
    const network = readNetwork(text);
    if (network !== null) list.addSubnet(network.address, network.prefix, familyOf(network.address));
  }
  return (address) => {
    const [plain = ''] = address.split('%');
    return isIP(plain) !== 0 && list.check(plain, familyOf(plain));
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv6(address) ? 'ipv6' : 'ipv4';
}
