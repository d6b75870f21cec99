/**
 * Reads, adds and removes addresses of the host's interfaces. Runs `ip` of iproute2. Nearly
 * every Linux host has this command, and it reports why a change fails. Changes need CAP_NET_ADMIN,
 * reads need no privilege.
 * @see ip-address(8), ip-route(8), ip-neighbour(8)
 */
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { setTimeout as delay } from 'node:timers/promises';
import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { managerLabel } from './host-network.js';
import { addressBits, canonicalIp, type IpNetwork } from './ip-network.js';

/** An address on an interface, with its prefix length. */
export interface InterfaceAddress extends IpNetwork {
  /** Name of the interface, such as `eth0`. */
  readonly device: string;
}

/** An address that the host has. */
export interface PresentAddress extends InterfaceAddress {
  /**
   * `tentative`: the kernel still looks for another host with this IPv6 address (RFC 4862 §5.4).
   * `duplicate`: it has found one.
   */
  readonly state: 'usable' | 'tentative' | 'duplicate';
}

/** A route of the host. `address` and `prefix` are its destination. */
export interface HostRoute extends InterfaceAddress {
  /** Address of the next hop; null: the destination is on the link. */
  readonly gateway: string | null;
  /**
   * Whether it is a connected route: the kernel adds and removes it with an address of the device.
   */
  readonly isConnected: boolean;
}

/** A failed call of `ip`. The message is "doing x: why". */
export class HostAddressError extends Error {
  override readonly name = 'HostAddressError';
  /** `notPermitted`: the service lacks CAP_NET_ADMIN. `noCommand`: iproute2 is not installed. */
  readonly kind: 'notPermitted' | 'noCommand' | 'failed';

  constructor(kind: HostAddressError['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/**
 * The addresses and routes of a host. If `ip` fails, a method rejects with a
 * {@link HostAddressError}.
 */
export interface HostAddresses {
  /** Returns the addresses of all interfaces. */
  list(): Promise<readonly PresentAddress[]>;
  /** Returns the IPv4 and IPv6 routes. A default route has the prefix 0. */
  routes(): Promise<readonly HostRoute[]>;
  /** Adds an address. Succeeds if the interface already has it. */
  add(address: InterfaceAddress): Promise<void>;
  /** Removes an address. Succeeds if the interface does not have it. */
  remove(address: InterfaceAddress): Promise<void>;
  /**
   * Returns whether another host of the link answers ARP for an IPv4 address; false for IPv6.
   * Without an answer it takes a little more than 0.5 s.
   */
  isAnswered(address: InterfaceAddress): Promise<boolean>;
}

const TIMEOUT_MS = 5_000;
/** How long to wait for an answer to ARP. A neighbor answers within a few milliseconds. */
const ARP_WAIT_MS = 500;
const ARP_STEP_MS = 50;
/** The discard port (RFC 863). The neighbor ignores the datagram. */
const DISCARD = 9;
/** The kernel's limit for labels, in characters. */
const MAX_LABEL_LENGTH = 15;

const addressesJson = z.array(
  z.object({
    ifname: z.string().optional(),
    addr_info: z
      .array(
        z.object({
          local: z.string().optional(),
          prefixlen: z.number().optional(),
          tentative: z.boolean().optional(),
          dadfailed: z.boolean().optional(),
        }),
      )
      .optional(),
  }),
);
const nextHop = z.object({ gateway: z.string().optional(), dev: z.string().optional() });
const routesJson = z.array(
  nextHop.extend({ dst: z.string(), protocol: z.string().optional(), nexthops: z.array(nextHop).optional() }),
);
const neighboursJson = z.array(z.object({ lladdr: z.string().optional(), state: z.array(z.string()).optional() }));

/** Returns the addresses of this host. */
export function hostAddresses(): HostAddresses {
  return {
    async list() {
      const devices = addressesJson.parse(await ipJson(['address', 'show']));
      return devices.flatMap(({ ifname: device, addr_info: entries = [] }) =>
        entries.flatMap(({ local, prefixlen: prefix, tentative = false, dadfailed = false }): PresentAddress[] => {
          const address = local === undefined ? undefined : canonicalIp(local);
          if (device === undefined || address === undefined || prefix === undefined) return [];
          return [{ device, address, prefix, state: dadfailed ? 'duplicate' : tentative ? 'tentative' : 'usable' }];
        }),
      );
    },
    async routes() {
      const answers = await Promise.all(['-4', '-6'].map((family) => ipJson([family, 'route', 'show'])));
      return answers.flatMap((answer, index) =>
        routesJson.parse(answer).flatMap((route) => routesOf(route, index === 0)),
      );
    },
    async add({ address, prefix, device }) {
      const label = `${device}${managerLabel}`;
      // The label shows administrators that the address belongs to a manager.
      const labelled = isIPv4(address) && label.length <= MAX_LABEL_LENGTH ? ['label', label] : [];
      await change(`adding ${address} to ${device}`, /exists|already assigned/i, [
        ...['address', 'add', `${address}/${prefix}`, 'dev', device],
        ...labelled,
      ]);
    },
    async remove({ address, prefix, device }) {
      const alreadyRemoved = /not found|cannot assign|cannot find device|does not exist/i;
      const command = ['address', 'delete', `${address}/${prefix}`, 'dev', device];
      await change(`removing ${address} from ${device}`, alreadyRemoved, command);
    },
    async isAnswered({ address, device }) {
      if (!isIPv4(address)) return false;
      await requestArp(address);
      for (let waited = 0; waited <= ARP_WAIT_MS; waited += ARP_STEP_MS) {
        const found = neighboursJson.parse(await ipJson(['neighbour', 'show', 'to', address, 'dev', device]));
        if (found.some(({ lladdr, state = [] }) => lladdr !== undefined && !state.includes('FAILED'))) return true;
        await delay(ARP_STEP_MS);
      }
      return false;
    },
  };
}

/** Returns a route for each next hop, because a route may have several. */
function routesOf(route: z.infer<typeof routesJson>[number], isIpv4: boolean): readonly HostRoute[] {
  const { dst, protocol, nexthops = [route] } = route;
  const [text = '', length] = (dst === 'default' ? (isIpv4 ? '0.0.0.0/0' : '::/0') : dst).split('/');
  const address = canonicalIp(text);
  if (address === undefined) return [];
  const prefix = length === undefined ? addressBits(address) : Number(length);
  return nexthops.map(({ gateway, dev: device = '' }) => {
    const next = gateway === undefined ? null : (canonicalIp(gateway) ?? null);
    return { device, address, prefix, gateway: next, isConnected: protocol === 'kernel' && gateway === undefined };
  });
}

/**
 * Sends a datagram, so that the kernel requests the neighbor's hardware address. This needs no
 * privilege.
 */
function requestArp(address: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const done = (): void => void socket.close(() => resolve());
    // Without a route, or behind a firewall, the kernel sends no request. The address then counts
    // as free.
    socket.once('error', done);
    socket.send('', DISCARD, address, done);
  });
}

async function ipJson(args: readonly string[]): Promise<unknown> {
  const text = await ip(`reading the host's network`, ['-json', ...args]);
  // `ip` prints nothing for an empty list.
  return text.trim() === '' ? [] : (JSON.parse(text) as unknown);
}

/**
 * Runs a change.
 * @param alreadyDone matches the error text of a change that is already in effect.
 * @throws {HostAddressError} for any other failure.
 */
async function change(what: string, alreadyDone: RegExp, args: readonly string[]): Promise<void> {
  try {
    await ip(what, args);
  } catch (error) {
    if (!(error instanceof HostAddressError) || error.kind !== 'failed' || !alreadyDone.test(error.message))
      throw error;
  }
}

function ip(what: string, args: readonly string[]): Promise<string> {
  // The PATH of an ordinary user may lack the folder of `ip`.
  const environment = { ...process.env, LC_ALL: 'C', PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };
  return new Promise((resolve, reject) => {
    execFile('ip', [...args], { timeout: TIMEOUT_MS, env: environment }, (error, output, errorOutput) => {
      if (error === null) {
        resolve(output);
        return;
      }
      const reason = errorOutput.trim().split('\n')[0] ?? '';
      if (error.code === 'ENOENT') {
        reject(new HostAddressError('noCommand', `${what}: there is no command ip (iproute2) on this host`, error));
      } else if (/not permitted|permission denied/i.test(reason)) {
        reject(new HostAddressError('notPermitted', `${what}: this service has no CAP_NET_ADMIN`, error));
      } else reject(new HostAddressError('failed', `${what}: ${reason === '' ? error.message : reason}`, error));
    });
  });
}
