/** Chooses the URL of the service for a client or a network. */
import { createSocket } from 'node:dgram';
import type { networkInterfaces } from 'node:os';

/** The addresses of the service. */
export interface ServiceAddresses {
  /** The service's URLs, `https://192.0.2.1:8000`. */
  readonly addresses: readonly string[];
  /** Whether the service listens at every address of the host, including later ones. */
  readonly everywhere: boolean;
}

/** Lists the host's interfaces, as `networkInterfaces` of node:os. */
export type InterfaceLister = typeof networkInterfaces;

/** Returns the IPv4 addresses of each interface that has one; empty if Node cannot read the interfaces. */
export function ipv4OfInterfaces(interfaces: InterfaceLister): readonly (readonly string[])[] {
  try {
    return Object.values(interfaces())
      .map((list) => (list ?? []).flatMap(({ family, address }) => (family === 'IPv4' ? [address] : [])))
      .filter((addresses) => addresses.length > 0);
  } catch {
    // Node reads the list through netlink, which a sandbox may forbid.
    return [];
  }
}

/**
 * Returns the local address for packets to another host. A connected UDP socket knows it without sending a
 * packet. Returns undefined if there is no route.
 */
export function localAddressFor(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createSocket('udp4');
    const done = (found: string | undefined): void => {
      probe.close();
      resolve(found);
    };
    probe.once('error', () => done(undefined));
    // Listens for the event `connect`, because Node also calls the callback of `connect()` for
    // errors.
    probe.once('connect', () => done(probe.address().address));
    probe.connect(port, address);
  });
}

/**
 * Returns the URL of the service root at the given address; undefined if the service does not
 * listen at this address.
 */
export function locationOf(address: string, { addresses, everywhere }: ServiceAddresses): string | undefined {
  const known = addresses.find((candidate) => hostOf(candidate) === address);
  const [first] = addresses;
  if (known === undefined && (first === undefined || !everywhere)) return undefined;
  const url = new URL('/redfish/v1/', known ?? first);
  url.hostname = address;
  return url.href;
}

/**
 * Returns the URL for a client; undefined if the service does not listen at the given address. For a client
 * on this host, any address works.
 * @param from the address of this host in packets to the client.
 * @param client the address of the client.
 * @param own the IPv4 addresses of this host.
 */
export function locationFor(
  from: string,
  client: string,
  own: readonly string[],
  service: ServiceAddresses,
): string | undefined {
  const found = locationOf(from, service);
  const [first] = service.addresses;
  return found !== undefined || first === undefined || !own.includes(client)
    ? found
    : new URL('/redfish/v1/', first).href;
}

function hostOf(url: string): string {
  const { hostname } = new URL(url);
  return hostname === 'localhost' ? '127.0.0.1' : hostname;
}
