/**
 * The SSDP socket: receives multicast searches, answers them and sends notifications. IPv4 only.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import type { Log } from '@rackless/daemon/log/log.js';
import { aliveMessage, byebyeMessage, readSearch, searchAnswer, type Announced, type Search } from './message.js';

/** Options of {@link openResponder}. */
export interface ResponderOptions extends Announced {
  /** The service's URLs, `https://192.0.2.1:8000`. */
  readonly addresses: readonly string[];
  /** Whether the service listens at every address of the host, including later ones. */
  readonly everywhere: boolean;
  /** The multicast group and port. */
  readonly group: string;
  readonly port: number;
  /** The TTL of notifications. */
  readonly ttl: number;
  /** The interval of notifications; 0: none. */
  readonly notifyIntervalMs: number;
  readonly log: Pick<Log, 'warn'>;
  /** 0 to 1: when to answer within the allowed time. Default: random. */
  readonly random?: () => number;
  /** The host's interfaces. Default: those that Node reports. */
  readonly interfaces?: typeof networkInterfaces;
}

/** An open SSDP socket, which announces the service and answers searches. */
export interface Responder {
  /** Sends byebye messages if the service was announced, and closes the socket. */
  close(): Promise<void>;
}

/** The minimum of DSP0266. */
const MIN_MAX_AGE_S = 1_800;
/** Maximum number of waiting answers. Further searches get no answer, and clients repeat them. */
const MAX_WAITING = 64;
/**
 * Maximum number of answers per second in total, so that searches with a forged address cannot
 * abuse the host for an attack.
 */
const MAX_ANSWERS_PER_SECOND = 20;
/** How often the interfaces are checked, because networks of machines come and go. */
const REJOIN_MS = 30_000;

/**
 * Opens the socket and announces the service.
 * @throws the errors of node:dgram if the port is not available.
 */
export async function openResponder(options: ResponderOptions): Promise<Responder> {
  const { group, port, ttl, notifyIntervalMs, log, random = Math.random } = options;
  const own = (): readonly (readonly string[])[] => ipv4OfInterfaces(options.interfaces ?? networkInterfaces);
  // Other programs on this host may use SSDP, too. Each gets all packets of the group.
  const socket = createSocket({ type: 'udp4', reuseAddr: true });
  // Binds to the group's address only, so that unicast packets from anywhere are not received.
  await bind(socket, port, group);
  // Clients repeat a search whose answer could not be sent.
  socket.on('error', (error) => log.warn('speaking SSDP', { error }));
  socket.setMulticastTTL(ttl);
  // Clients may run on this host.
  socket.setMulticastLoopback(true);
  const maxAge = Math.max(MIN_MAX_AGE_S, Math.ceil((2 * notifyIntervalMs) / 1_000));

  // The kernel rejects interfaces that are already members, so this finds new networks.
  const join = (): void => {
    const addresses = own().flat();
    // If the interfaces are unavailable, joins on the interface of the default route.
    for (const address of addresses.length === 0 ? [undefined] : addresses) {
      try {
        socket.addMembership(group, address);
      } catch {
        // It is already a member by this or another address, or the interface disappeared.
      }
    }
  };
  join();
  const rejoining = setInterval(join, REJOIN_MS).unref();

  const waiting = new Set<NodeJS.Timeout>();
  const askers = new Set<string>();
  const allowance = createAllowance(MAX_ANSWERS_PER_SECOND);
  let closed = false;
  const answer = async ({ target }: Search, { address, port: askerPort }: RemoteInfo): Promise<void> => {
    if (!allowance()) return;
    const from = await localAddressFor(address, askerPort);
    const location = from === undefined ? undefined : locationFor(from, address, own().flat(), options);
    if (location === undefined || closed) return;
    socket.send(searchAnswer(options, target, location, maxAge), askerPort, address, () => undefined);
  };
  socket.on('message', (packet, sender) => {
    const search = readSearch(packet, options);
    if (search === undefined || sender.port === 0 || waiting.size >= MAX_WAITING) return;
    // Clients repeat searches because packets get lost; one pending answer is enough.
    const asker = `${sender.address} ${sender.port} ${search.target}`;
    if (askers.has(asker)) return;
    askers.add(asker);
    const timer = setTimeout(() => {
      waiting.delete(timer);
      askers.delete(asker);
      void answer(search, sender);
    }, random() * search.withinMs);
    waiting.add(timer);
  });

  /** Sends through each interface in turn, because the interface is a state of the socket. */
  const tellAll = async (messageFor: (location: string) => string): Promise<void> => {
    for (const addresses of own()) {
      // Sends once through each interface. Its other addresses may belong to managers.
      const address = addresses.find((one) => locationOf(one, options) !== undefined);
      const location = address === undefined ? undefined : locationOf(address, options);
      if (address === undefined || location === undefined) continue;
      try {
        socket.setMulticastInterface(address);
        await send(socket, messageFor(location), port, group);
      } catch {
        // An interface without a network, or one that disappeared.
      }
    }
  };
  let telling = Promise.resolve();
  const tell = (messageFor: (location: string) => string): Promise<void> =>
    (telling = telling.then(() => tellAll(messageFor)));
  const tellAlive = (): void => void tell((location) => aliveMessage(options, location, maxAge));
  const notifies = notifyIntervalMs > 0;
  if (notifies) tellAlive();
  const notifying = notifies ? setInterval(tellAlive, notifyIntervalMs).unref() : undefined;

  return {
    close: async () => {
      if (closed) return;
      closed = true;
      clearInterval(rejoining);
      clearInterval(notifying);
      for (const timer of waiting) clearTimeout(timer);
      if (notifies) await tell(() => byebyeMessage(options));
      await new Promise<void>((resolve) => socket.close(resolve));
    },
  };
}

function bind(socket: Socket, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      socket.close();
      reject(error);
    };
    socket.once('error', fail);
    socket.bind({ port, address }, () => {
      socket.removeListener('error', fail);
      resolve();
    });
  });
}

function send(socket: Socket, text: string, port: number, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.send(text, port, address, (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });
}

/** Limits a rate: this many per second, with the same burst. */
function createAllowance(perSecond: number): () => boolean {
  let left = perSecond;
  let at = performance.now();
  return () => {
    const now = performance.now();
    left = Math.min(perSecond, left + ((now - at) / 1_000) * perSecond);
    at = now;
    if (left < 1) return false;
    left -= 1;
    return true;
  };
}

/** Returns the IPv4 addresses of each interface that has one. */
function ipv4OfInterfaces(interfaces: typeof networkInterfaces): readonly (readonly string[])[] {
  try {
    return Object.values(interfaces())
      .map((list) => (list ?? []).flatMap(({ family, address }) => (family === 'IPv4' ? [address] : [])))
      .filter((addresses) => addresses.length > 0);
  } catch {
    // The list comes through netlink, which a sandbox may forbid.
    return [];
  }
}

/**
 * Returns the local address for packets to another host. A connected UDP socket knows it without
 * sending a packet.
 */
function localAddressFor(address: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const probe = createSocket('udp4');
    const done = (found: string | undefined): void => {
      probe.close();
      resolve(found);
    };
    probe.once('error', () => done(undefined));
    // Not as connect's callback, which also gets errors.
    probe.once('connect', () => done(probe.address().address));
    probe.connect(port, address);
  });
}

/**
 * Returns the URL of the service root at this address; undefined if the service does not listen
 * there.
 */
function locationOf(address: string, { addresses, everywhere }: ResponderOptions): string | undefined {
  const known = addresses.find((candidate) => hostOf(candidate) === address);
  const [any] = addresses;
  if (known === undefined && (any === undefined || !everywhere)) return undefined;
  const url = new URL('/redfish/v1/', known ?? any);
  url.hostname = address;
  return url.href;
}

/** Returns the URL for a client. For a client on this host, any address works. */
function locationFor(
  from: string,
  asker: string,
  own: readonly string[],
  options: ResponderOptions,
): string | undefined {
  const found = locationOf(from, options);
  const [any] = options.addresses;
  return found !== undefined || any === undefined || !own.includes(asker) ? found : new URL('/redfish/v1/', any).href;
}

function hostOf(url: string): string {
  const { hostname } = new URL(url);
  return hostname === 'localhost' ? '127.0.0.1' : hostname;
}
