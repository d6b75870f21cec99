/**
 * Reads the network of this host from the kernel and from /etc/resolv.conf. Redfish shows it as the
 * Ethernet interfaces of the managers.
 * @see proc(5), https://www.kernel.org/doc/Documentation/ABI/testing/sysfs-class-net
 */
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { listInterfaces, type NetworkInterfaces } from '@rackless/daemon/network/network-interfaces.js';

/** An address of an interface. */
export interface HostAddress {
  readonly address: string;
  /** Prefix length in bits. */
  readonly prefix: number;
}

/** A network interface of the host. */
export interface HostInterface {
  /** For example `eth0`. */
  readonly name: string;
  /** Null if the interface has none, such as the loopback interface. */
  readonly mac: string | null;
  readonly ipv4: readonly HostAddress[];
  readonly ipv6: readonly HostAddress[];
  /** Gateway of the default route through this interface; null: no such route. */
  readonly ipv4Gateway: string | null;
  /** As `ipv4Gateway`, for IPv6. */
  readonly ipv6Gateway: string | null;
  readonly linkUp: boolean;
  /** Null for a device without a speed, such as a virtual one. */
  readonly speedMbps: number | null;
  /** Bytes; null if the kernel does not report it. */
  readonly mtu: number | null;
  /** VLAN id; null if the interface is not a VLAN. */
  readonly vlan: number | null;
}

/** The names, interfaces and name servers of the host. */
export interface HostNetwork {
  /** Without the domain. */
  readonly hostName: string;
  /** Null if the name of the host has no domain. */
  readonly fqdn: string | null;
  readonly interfaces: readonly HostInterface[];
  /** Addresses from /etc/resolv.conf. */
  readonly nameServers: readonly string[];
}

/**
 * The suffix of the label of a manager's address: `eth0:bmc`. Node lists such an address under its
 * label instead of the interface. All services of the host use this suffix.
 */
export const managerLabel = ':bmc';

/** The interfaces to show. The functions replace the real host in tests. */
interface HostNetworkOptions {
  /** URLs at which the service listens. The result omits interfaces that have none of the addresses in these URLs. */
  readonly listenUrls: readonly string[];
  /** Default: the interfaces that Node reports. */
  readonly interfaces?: () => NetworkInterfaces;
  /** Reads a file of /proc, /sys or /etc; null if it is not readable. Default: reads the real file. */
  readonly read?: (path: string) => string | null;
}

/** Reads the network, in less than a millisecond. Values that a sandbox hides are null, or missing in lists. */
export function readHostNetwork({ listenUrls, interfaces, read = readSystemFile }: HostNetworkOptions): HostNetwork {
  const listened = new Set(listenUrls.map(hostOf));
  const fullName = hostname();
  const routes4 = defaultRoutes4(read('/proc/net/route') ?? '');
  const routes6 = defaultRoutes6(read('/proc/net/ipv6_route') ?? '');
  const found = Object.entries(listInterfaces(interfaces)).flatMap(([name, entries = []]): HostInterface[] => {
    const isListening = entries.some(({ address }) => listened.has(address));
    // Omits a name that cannot be a segment of a URI.
    if (!isListening || name.endsWith(managerLabel) || !/^[\w.:@-]+$/.test(name)) return [];
    const device = (file: string): string | null => read(`/sys/class/net/${name}/${file}`);
    const mac = entries[0]?.mac ?? '00:00:00:00:00:00';
    const vlan = /VID: (\d+)/.exec(read(`/proc/net/vlan/${name}`) ?? '')?.[1];
    const addressesOf = (family: string): readonly HostAddress[] =>
      entries.flatMap((entry) => {
        const prefix = Number(entry.cidr?.split('/')[1] ?? NaN);
        return entry.family === family && Number.isInteger(prefix) ? [{ address: entry.address, prefix }] : [];
      });
    return [
      {
        name,
        mac: mac === '00:00:00:00:00:00' ? null : mac,
        ipv4: addressesOf('IPv4'),
        ipv6: addressesOf('IPv6'),
        ipv4Gateway: routes4.get(name) ?? null,
        ipv6Gateway: routes6.get(name) ?? null,
        // Every state except `down` counts as up: the loopback interface has the state `unknown`.
        linkUp: device('operstate') !== 'down',
        speedMbps: positiveIntegerIn(device('speed')),
        mtu: positiveIntegerIn(device('mtu')),
        vlan: vlan === undefined ? null : Number(vlan),
      },
    ];
  });
  const external = found.filter(({ name }) => name !== 'lo');
  const nameServers = [...(read('/etc/resolv.conf') ?? '').matchAll(/^\s*nameserver\s+([\d.a-f:]+)/gim)];
  return {
    hostName: fullName.split('.')[0] ?? fullName,
    fqdn: fullName.includes('.') ? fullName : null,
    // The loopback interface is shown only if the service listens on no other interface.
    interfaces: external.length === 0 ? found : external,
    nameServers: nameServers.flatMap(([, address]) => (address === undefined ? [] : [address])),
  };
}

function readSystemFile(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return null;
  }
}

/** Returns the address in a URL: `127.0.0.1` for `http://127.0.0.1:8000`, also for `http://localhost:8000`. */
function hostOf(url: string): string {
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  return host === 'localhost' ? '127.0.0.1' : host;
}

/**
 * Returns the positive integer in a file of the kernel; null for any other text. The kernel writes
 * `-1` if a value is unknown.
 */
function positiveIntegerIn(text: string | null): number | null {
  const value = Number(text ?? NaN);
  return Number.isInteger(value) && value > 0 ? value : null;
}

/**
 * Returns the gateways of default routes by interface. Addresses in the table are hexadecimal
 * numbers in the byte order of a little-endian machine.
 */
function defaultRoutes4(table: string): ReadonlyMap<string, string> {
  const routes = table.split('\n').flatMap((line): [string, string][] => {
    const [name, destination, gateway, , , , , mask] = line.trim().split(/\s+/);
    const isDefault = destination === '00000000' && mask === '00000000' && gateway !== '00000000';
    if (name === undefined || gateway === undefined || !isDefault) return [];
    const bytes = [6, 4, 2, 0].map((at) => Number.parseInt(gateway.slice(at, at + 2), 16));
    return [[name, bytes.join('.')]];
  });
  // The first route of an interface has the lowest metric. The list is reversed, so that this route
  // replaces the others.
  return new Map(routes.toReversed());
}

function defaultRoutes6(table: string): ReadonlyMap<string, string> {
  const routes = table.split('\n').flatMap((line): [string, string][] => {
    const [destination, length, , , gateway, , , , , name] = line.trim().split(/\s+/);
    const isDefault = destination !== undefined && /^0+$/.test(destination) && length === '00';
    if (!isDefault || gateway === undefined || name === undefined || /^0+$/.test(gateway)) return [];
    const groups = gateway.match(/.{4}/g) ?? [];
    // The host of a URL has the short form (RFC 5952).
    return [[name, new URL(`http://[${groups.join(':')}]`).hostname.slice(1, -1)]];
  });
  return new Map(routes.toReversed());
}
