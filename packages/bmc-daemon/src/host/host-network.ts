/** The network of the host that this service runs on, as its kernel tells it: what a management controller's own ports are. */
import { readFileSync } from 'node:fs';
import { hostname, networkInterfaces } from 'node:os';

/** One address, as it is set; who has set it the kernel does not know. */
export interface HostAddress {
  readonly address: string;
  /** Bits of the network. */
  readonly prefix: number;
}

export interface HostInterface {
  /** `eth0`. */
  readonly name: string;
  /** Null for what has none, such as the loopback interface. */
  readonly mac: string | null;
  readonly ipv4: readonly HostAddress[];
  readonly ipv6: readonly HostAddress[];
  /** Of the default route through it; null: none goes there. */
  readonly ipv4Gateway: string | null;
  readonly ipv6Gateway: string | null;
  readonly linkUp: boolean;
  /** Null where the device has no speed, as virtual ones. */
  readonly speedMbps: number | null;
  readonly mtu: number | null;
  /** Id of the VLAN that it is; null: it is none. */
  readonly vlan: number | null;
}

export interface HostNetwork {
  /** Without its domain. */
  readonly hostName: string;
  /** Null where the host's own name has no domain. */
  readonly fqdn: string | null;
  readonly interfaces: readonly HostInterface[];
  /** Those of resolv.conf. */
  readonly nameServers: readonly string[];
}

/** Of an interface's name; the kernel lists the addresses of managers under it, of whichever service on this host. */
export const managerLabel = ':bmc';

export interface HostNetworkOptions {
  /** URLs that the service listens at; interfaces with none of their addresses are left out. */
  readonly addresses: readonly string[];
  /** Default: those that Node finds. */
  readonly interfaces?: typeof networkInterfaces;
  /** A file of the kernel's; null where it can not be read. Default: the real ones. */
  readonly read?: (path: string) => string | null;
}

/** Reads it anew each time, in less than a millisecond. What a sandbox hides is left out. */
export function readHostNetwork({
  addresses,
  interfaces = networkInterfaces,
  read = readKernelFile,
}: HostNetworkOptions): HostNetwork {
  const listened = new Set(addresses.map(hostOf));
  const full = hostname();
  let all: ReturnType<typeof networkInterfaces>;
  try {
    all = interfaces();
  } catch {
    // They are asked for through netlink, which systemd's RestrictAddressFamilies may forbid.
    all = {};
  }
  const routes4 = defaultRoutes4(read('/proc/net/route') ?? '');
  const routes6 = defaultRoutes6(read('/proc/net/ipv6_route') ?? '');
  const found = Object.entries(all).flatMap(([name, entries = []]): HostInterface[] => {
    const known = entries.some(({ address }) => listened.has(address));
    // A name that is no segment of a path could not be served.
    if (!known || name.endsWith(managerLabel) || !/^[\w.:@-]+$/.test(name)) return [];
    const device = (file: string): string | null => read(`/sys/class/net/${name}/${file}`);
    const mac = entries[0]?.mac ?? '00:00:00:00:00:00';
    const vlan = /VID: (\d+)/.exec(read(`/proc/net/vlan/${name}`) ?? '')?.[1];
    const of = (family: string): readonly HostAddress[] =>
      entries.flatMap((entry) => {
        const prefix = Number(entry.cidr?.split('/')[1] ?? NaN);
        return entry.family === family && Number.isInteger(prefix) ? [{ address: entry.address, prefix }] : [];
      });
    return [
      {
        name,
        mac: mac === '00:00:00:00:00:00' ? null : mac,
        ipv4: of('IPv4'),
        ipv6: of('IPv6'),
        ipv4Gateway: routes4.get(name) ?? null,
        ipv6Gateway: routes6.get(name) ?? null,
        // The loopback interface has no carrier to speak of, and is up as long as it is listed here.
        linkUp: device('operstate') !== 'down',
        speedMbps: positive(device('speed')),
        mtu: positive(device('mtu')),
        vlan: vlan === undefined ? null : Number(vlan),
      },
    ];
  });
  const outside = found.filter(({ name }) => name !== 'lo');
  const nameServers = [...(read('/etc/resolv.conf') ?? '').matchAll(/^\s*nameserver\s+([\d.a-f:]+)/gim)];
  return {
    hostName: full.split('.')[0] ?? full,
    fqdn: full.includes('.') ? full : null,
    // Nobody manages anything over the loopback interface, unless there is no other way in.
    interfaces: outside.length === 0 ? found : outside,
    nameServers: nameServers.flatMap(([, address]) => (address === undefined ? [] : [address])),
  };
}

function readKernelFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

/** `127.0.0.1` of `http://127.0.0.1:8000`. */
function hostOf(url: string): string {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  return host === 'localhost' ? '127.0.0.1' : host;
}

/** Of a number that the kernel gives as text; -1 stands for one that nobody knows. */
function positive(text: string | null): number | null {
  const value = Number(text ?? NaN);
  return Number.isInteger(value) && value > 0 ? value : null;
}

/** Gateways of default routes by interface. Addresses stand there as the little-endian machine's numbers, in hexadecimal. */
function defaultRoutes4(table: string): ReadonlyMap<string, string> {
  const routes = table.split('\n').flatMap((line): [string, string][] => {
    const [name, destination, gateway, , , , , mask] = line.trim().split(/\s+/);
    const isDefault = destination === '00000000' && mask === '00000000' && gateway !== '00000000';
    if (name === undefined || gateway === undefined || !isDefault) return [];
    const bytes = [6, 4, 2, 0].map((at) => Number.parseInt(gateway.slice(at, at + 2), 16));
    return [[name, bytes.join('.')]];
  });
  // The first is the one with the least metric.
  return new Map(routes.toReversed());
}

function defaultRoutes6(table: string): ReadonlyMap<string, string> {
  const routes = table.split('\n').flatMap((line): [string, string][] => {
    const [destination, length, , , gateway, , , , , name] = line.trim().split(/\s+/);
    const isDefault = destination !== undefined && /^0+$/.test(destination) && length === '00';
    if (!isDefault || gateway === undefined || name === undefined || /^0+$/.test(gateway)) return [];
    const groups = gateway.match(/.{4}/g) ?? [];
    // A URL's host is written in the short form.
    return [[name, new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)]];
  });
  return new Map(routes.toReversed());
}
