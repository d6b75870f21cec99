/**
 * Checks whether a manager can have an address, and with which prefix length the host must set it.
 * The address of a manager must not change the existing routes of the host. Within a network of the host on the
 * same device, the address gets no route. Outside these networks, the address adds a route to its own network,
 * and is rejected if another route of the host, except the default route, overlaps that network.
 */
import { isIPv4 } from 'node:net';
import type { InterfaceAddress, HostRoute } from '../host/host-addresses.js';
import { addressBits, isHostAddress, overlap, type IpNetwork } from '../host/ip-network.js';

/** A fault of an address: the part, and a sentence for clients. */
interface AddressFault {
  readonly part: 'address' | 'prefix';
  readonly why: string;
}

/** The host's addresses and routes, which a new address must fit. */
export interface Surroundings {
  /** Addresses of the host on all interfaces, without those of managers. */
  readonly hostAddresses: readonly InterfaceAddress[];
  /** The networks of the host's own addresses on the device of the new address. */
  readonly networks: readonly IpNetwork[];
  /** Routes of the host. */
  readonly routes: readonly HostRoute[];
}

/** Addresses that no host can have, or that have a different meaning on each host. */
const forbiddenNetworks = [
  ['0.0.0.0/8', 'no host has such an address'],
  ['127.0.0.0/8', 'it is a loopback address'],
  ['169.254.0.0/16', 'it is a link-local address'],
  ['224.0.0.0/3', 'it is a multicast or reserved address'],
  ['::/128', 'no host has such an address'],
  ['::1/128', 'it is the loopback address'],
  ['::ffff:0:0/96', 'it is an IPv4 address in another spelling'],
  ['fe80::/10', 'it is a link-local address'],
  ['ff00::/8', 'it is a multicast address'],
] as const;
const MIN_PREFIX = 8;

/**
 * Checks an address.
 * @returns the prefix length to set, or the fault. Within a network of the host, the prefix length is that
 *   of a single address (32 or 128), otherwise the given prefix length.
 */
export function checkAddress(
  { address, prefix, device }: InterfaceAddress,
  { hostAddresses, networks, routes }: Surroundings,
): number | AddressFault {
  const bits = addressBits(address);
  const single = { address, prefix: bits };
  const unusable = device === 'lo' ? loopbackFault(address) : ordinaryFault(address);
  if (unusable !== undefined) return { part: 'address', why: unusable };
  if (prefix < MIN_PREFIX || prefix > bits)
    return { part: 'prefix', why: `a prefix length of ${prefix} is not allowed` };
  if (!isHostAddress({ address, prefix })) {
    return { part: 'address', why: `it is the address of its network, or the network's broadcast address` };
  }
  const holder = hostAddresses.find((other) => other.address === address);
  if (holder !== undefined) return { part: 'address', why: `the host has it already, on ${holder.device}` };
  // A gateway that is silent now would not be found by the check for duplicates. With its address, the host
  // would be its own gateway.
  if (routes.some(({ gateway }) => gateway === address)) {
    return { part: 'address', why: `it is the address of a router of the host` };
  }
  const enclosing = networks.find((network) => overlap(network, single));
  if (enclosing !== undefined) {
    if (enclosing.prefix === prefix) return bits;
    return {
      part: 'prefix',
      why: `the network of ${device} with this address has the prefix length ${enclosing.prefix}`,
    };
  }
  const overlapping = routes.find(
    (route) => route.prefix > 0 && overlap(route, { address, prefix }) && !isSame(route, { address, prefix, device }),
  );
  if (overlapping === undefined) return prefix;
  const over = overlapping.device === '' ? '' : ` over ${overlapping.device}`;
  return {
    part: 'address',
    why: `its network overlaps a route of the host, to ${overlapping.address}/${overlapping.prefix}${over}`,
  };
}

/**
 * Returns whether a route is the same as the route that this address would add. The address of another
 * manager in the same network may have added the route already.
 */
function isSame(route: HostRoute, { address, prefix, device }: InterfaceAddress): boolean {
  return route.isConnected && route.device === device && route.prefix === prefix && overlap(route, { address, prefix });
}

/**
 * Returns the fault of an address that `lo` cannot have, because the host would then receive the
 * packets to another network; undefined: none.
 */
function loopbackFault(address: string): string | undefined {
  const fits = isIPv4(address) && overlap({ address: '127.0.0.0', prefix: 8 }, { address, prefix: 32 });
  return fits ? undefined : 'the loopback interface accepts only addresses of 127.0.0.0/8';
}

/**
 * Returns the fault of an address that an interface other than `lo` cannot have; undefined: none.
 */
function ordinaryFault(address: string): string | undefined {
  const bits = addressBits(address);
  return forbiddenNetworks.find(([network]) => {
    const [base = '', length] = network.split('/');
    return overlap({ address: base, prefix: Number(length) }, { address, prefix: bits });
  })?.[1];
}
