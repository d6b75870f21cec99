/**
 * Whether an address can become a manager's own, and how it is set then. The host's own network is never changed by it: within a
 * network of the host the address stands alone, without a route, and a network that the host reaches in some way already is none
 * that a client may bring along.
 */
import { isIPv4 } from 'node:net';
import type { DeviceAddress, HostRoute } from '../host-addresses.js';
import { addressBits, isHostAddress, overlap, type IpNetwork } from '../ip-network.js';

/** What is wrong with an address: which part of it, and why, as a sentence for clients. */
export interface AddressFault {
  readonly part: 'address' | 'prefix';
  readonly why: string;
}

export interface Surroundings {
  /** Every address that there is on the host, a manager's or not. */
  readonly present: readonly DeviceAddress[];
  /** Addresses of the device that are the host's own. */
  readonly networks: readonly IpNetwork[];
  /** Ways that the host knows. */
  readonly routes: readonly HostRoute[];
}

/** Addresses that are no host's on a network, or that mean something else on every host. */
const never = [
  ['0.0.0.0/8', 'no host has such an address'],
  ['127.0.0.0/8', 'it is a loopback address'],
  ['169.254.0.0/16', 'it is a link-local address'],
  ['224.0.0.0/3', 'no host has such an address'],
  ['::/127', 'no host has such an address'],
  ['::ffff:0:0/96', 'it is an IPv4 address in another spelling'],
  ['fe80::/10', 'it is a link-local address'],
  ['ff00::/8', 'it is a multicast address'],
] as const;
const SHORTEST_PREFIX = 8;

/** @returns the bits that it is set with, or what is wrong. */
export function checkAddress(
  { address, prefix, device }: DeviceAddress,
  { present, networks, routes }: Surroundings,
): number | AddressFault {
  const bits = addressBits(address);
  const alone = { address, prefix: bits };
  const kind = device === 'lo' ? loopbackFault(address) : ordinaryFault(address);
  if (kind !== undefined) return { part: 'address', why: kind };
  if (prefix < SHORTEST_PREFIX || prefix > bits) return { part: 'prefix', why: `it is a network of ${prefix} bits` };
  if (!isHostAddress({ address, prefix })) {
    return { part: 'address', why: `it is the address of its network, or the network's broadcast address` };
  }
  const holder = present.find((other) => other.address === address);
  if (holder !== undefined) return { part: 'address', why: `the host has it already, on ${holder.device}` };
  // One that is silent just now would not be found on the link, and the host would be its own way out.
  if (routes.some(({ gateway }) => gateway === address)) {
    return { part: 'address', why: `it is that of a router of the host's` };
  }
  const around = networks.find((network) => overlap(network, alone));
  if (around !== undefined) {
    if (around.prefix === prefix) return bits;
    return { part: 'prefix', why: `the network of ${device} there has ${around.prefix} bits` };
  }
  const way = routes.find(
    (route) => route.prefix > 0 && overlap(route, { address, prefix }) && !isSame(route, { address, prefix, device }),
  );
  if (way === undefined) return prefix;
  const over = way.device === '' ? '' : ` over ${way.device}`;
  return {
    part: 'address',
    why: `the host reaches ${way.address}/${way.prefix}${over}, and its routes are not changed`,
  };
}

/** The route that another manager's address has brought along. */
function isSame(route: HostRoute, { address, prefix, device }: DeviceAddress): boolean {
  return route.isOfAddress && route.device === device && route.prefix === prefix && overlap(route, { address, prefix });
}

/** Any other network on `lo` would be swallowed by it. */
function loopbackFault(address: string): string | undefined {
  const fits = isIPv4(address) && overlap({ address: '127.0.0.0', prefix: 8 }, { address, prefix: 32 });
  return fits ? undefined : 'the loopback interface takes addresses of 127.0.0.0/8 alone';
}

function ordinaryFault(address: string): string | undefined {
  const bits = addressBits(address);
  return never.find(([network]) => {
    const [base = '', length] = network.split('/');
    return overlap({ address: base, prefix: Number(length) }, { address, prefix: bits });
  })?.[1];
}
