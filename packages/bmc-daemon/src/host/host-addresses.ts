/**
 * The addresses of the host's interfaces, as far as this service adds and removes its own: through iproute2, which every host has and
 * which says why where it refuses. Needs CAP_NET_ADMIN to change anything, nothing to look.
 */
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { setTimeout as delay } from 'node:timers/promises';
import { isIPv4 } from 'node:net';
import { z } from 'zod';
import { managerLabel } from './host-network.js';
import { addressBits, canonicalIp, type IpNetwork } from './ip-network.js';

/** An address on an interface, with the prefix that it is set with. */
export interface DeviceAddress extends IpNetwork {
  /** `eth0`. */
  readonly device: string;
}

export interface PresentAddress extends DeviceAddress {
  /** IPv6: the kernel still asks whether another host has it, or has found one. */
  readonly state: 'usable' | 'tentative' | 'duplicate';
}

/** A way that the host knows to a network. */
export interface HostRoute extends DeviceAddress {
  /** Whose next stop is on the way there; null: its hosts are on the link. */
  readonly gateway: string | null;
  /** It has come with an address of the device, and goes with it. */
  readonly isOfAddress: boolean;
}

/** Why the host did not do it. */
export class HostAddressError extends Error {
  override readonly name = 'HostAddressError';
  /** `notPermitted`: CAP_NET_ADMIN is wanting; `noCommand`: there is no iproute2. */
  readonly kind: 'notPermitted' | 'noCommand' | 'failed';

  constructor(kind: HostAddressError['kind'], message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
  }
}

/** Every method rejects with a {@link HostAddressError}. */
export interface HostAddresses {
  list(): Promise<readonly PresentAddress[]>;
  /** Those of both families; default routes are ways to networks of no bits. */
  routes(): Promise<readonly HostRoute[]>;
  /** One that is there already is no error. */
  add(address: DeviceAddress): Promise<void>;
  /** One that is gone already is no error. */
  remove(address: DeviceAddress): Promise<void>;
  /** Whether another host of the link answers for an IPv4 address, asked by ARP as for every neighbour. */
  isAnswered(address: DeviceAddress): Promise<boolean>;
}

const TIMEOUT_MS = 5_000;
/** A neighbour answers within a few milliseconds. */
const ARP_WAIT_MS = 500;
const ARP_STEP_MS = 50;
/** The discard port: nobody listens, and it is the question for the address that counts. */
const DISCARD = 9;
/** The kernel's longest label. */
const LONGEST_LABEL = 15;

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
const stop = z.object({ gateway: z.string().optional(), dev: z.string().optional() });
const routesJson = z.array(
  stop.extend({ dst: z.string(), protocol: z.string().optional(), nexthops: z.array(stop).optional() }),
);
const neighboursJson = z.array(z.object({ lladdr: z.string().optional(), state: z.array(z.string()).optional() }));

/** Those of this host. */
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
      const both = await Promise.all(['-4', '-6'].map((family) => ipJson([family, 'route', 'show'])));
      return both.flatMap((answer, index) => routesJson.parse(answer).flatMap((route) => routesOf(route, index === 0)));
    },
    async add({ address, prefix, device }) {
      const label = `${device}${managerLabel}`;
      // So that whoever looks at the host sees whose it is.
      const labelled = isIPv4(address) && label.length <= LONGEST_LABEL ? ['label', label] : [];
      await change(`adding ${address} to ${device}`, /exists|already assigned/i, [
        ...['address', 'add', `${address}/${prefix}`, 'dev', device],
        ...labelled,
      ]);
    },
    async remove({ address, prefix, device }) {
      const gone = /not found|cannot assign|cannot find device|does not exist/i;
      const command = ['address', 'delete', `${address}/${prefix}`, 'dev', device];
      await change(`removing ${address} from ${device}`, gone, command);
    },
    async isAnswered({ address, device }) {
      if (!isIPv4(address)) return false;
      await knock(address);
      for (let waited = 0; waited <= ARP_WAIT_MS; waited += ARP_STEP_MS) {
        const found = neighboursJson.parse(await ipJson(['neighbour', 'show', 'to', address, 'dev', device]));
        if (found.some(({ lladdr, state = [] }) => lladdr !== undefined && !state.includes('FAILED'))) return true;
        await delay(ARP_STEP_MS);
      }
      return false;
    },
  };
}

/** One for each of the next stops, which a route may have several of. */
function routesOf(route: z.infer<typeof routesJson>[number], isFour: boolean): readonly HostRoute[] {
  const { dst, protocol, nexthops = [route] } = route;
  const [text = '', length] = (dst === 'default' ? (isFour ? '0.0.0.0/0' : '::/0') : dst).split('/');
  const address = canonicalIp(text);
  if (address === undefined) return [];
  const prefix = length === undefined ? addressBits(address) : Number(length);
  return nexthops.map(({ gateway, dev: device = '' }) => {
    const next = gateway === undefined ? null : (canonicalIp(gateway) ?? null);
    return { device, address, prefix, gateway: next, isOfAddress: protocol === 'kernel' && gateway === undefined };
  });
}

/** Has the kernel ask for the hardware address of a neighbour, as everybody may. */
function knock(address: string): Promise<void> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const done = (): void => void socket.close(() => resolve());
    // No way there, or a firewall: then nobody is asked, and nobody answers.
    socket.once('error', done);
    socket.send('', DISCARD, address, done);
  });
}

async function ipJson(args: readonly string[]): Promise<unknown> {
  const text = await ip(`reading the host's network`, ['-json', ...args]);
  // It says nothing at all where there is nothing to list.
  return text.trim() === '' ? [] : (JSON.parse(text) as unknown);
}

/** @param done what it says where nothing had to be done. */
async function change(what: string, done: RegExp, args: readonly string[]): Promise<void> {
  try {
    await ip(what, args);
  } catch (error) {
    if (!(error instanceof HostAddressError) || error.kind !== 'failed' || !done.test(error.message)) throw error;
  }
}

function ip(what: string, args: readonly string[]): Promise<string> {
  // Of an ordinary user's PATH it is no part.
  const environment = { ...process.env, LC_ALL: 'C', PATH: `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin` };
  return new Promise((resolve, reject) => {
    execFile('ip', [...args], { timeout: TIMEOUT_MS, env: environment }, (error, output, complaint) => {
      if (error === null) {
        resolve(output);
        return;
      }
      const said = complaint.trim().split('\n')[0] ?? '';
      if (error.code === 'ENOENT') {
        reject(new HostAddressError('noCommand', `${what}: there is no command ip (iproute2) on this host`, error));
      } else if (/not permitted|permission denied/i.test(said)) {
        reject(new HostAddressError('notPermitted', `${what}: this service has no CAP_NET_ADMIN`, error));
      } else reject(new HostAddressError('failed', `${what}: ${said === '' ? error.message : said}`, error));
    });
  });
}
