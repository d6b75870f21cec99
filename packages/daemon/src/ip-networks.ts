/** IP addresses and networks as people write them in settings: one notation for all of them, and whether an address is in one. */
import { BlockList, isIP, isIPv6 } from 'node:net';

/** An address is a network of one. */
interface WrittenNetwork {
  readonly address: string;
  /** Bits of the network: 0 to 32, or to 128. */
  readonly prefix: number;
}

/** Reads `10.0.0.0/8`, `2001:db8::/32`, `192.0.2.1` or `::1`; null: it is none of these. A zone (`%eth0`) makes it none. */
export function readNetwork(text: string): WrittenNetwork | null {
  const [, address = '', length] = /^([^/%]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  if (isIP(address) === 0) return null;
  const maxPrefix = isIPv6(address) ? 128 : 32;
  const prefix = length === undefined ? maxPrefix : Number(length);
  return prefix > maxPrefix ? null : { address, prefix };
}

/**
 * Returns a function that tells whether an address is in one of the networks. Its zone is ignored, and an IPv4 network has
 * `::ffff:192.0.2.1` too. A text that is no network has no address.
 */
export function networkTest(networks: readonly string[]): (address: string) => boolean {
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
