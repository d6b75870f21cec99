/**
 * The SSDP socket: receives multicast searches, answers them and sends notifications. IPv4 only.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { networkInterfaces } from 'node:os';
import type { Log } from '@rackless/daemon/log/log.js';
import {
  ipv4OfInterfaces,
  localAddressFor,
  locationFor,
  locationOf,
  type InterfaceLister,
  type ServiceAddresses,
} from './location.js';
import { aliveMessage, byebyeMessage, readSearch, searchAnswer, type Announced, type Search } from './message.js';

/** Options of {@link openResponder}. */
export interface ResponderOptions extends Announced, ServiceAddresses {
  /** The multicast group and port. */
  readonly group: string;
  readonly port: number;
  /** The TTL of notifications. */
  readonly ttl: number;
  /** The interval of notifications; 0: none. */
  readonly notifyIntervalMs: number;
  readonly log: Pick<Log, 'warn'>;
  /** Returns a number from 0 to 1: the part of the allowed time that an answer waits. Default: `Math.random`. */
  readonly random?: () => number;
  /** The host's interfaces. Default: those that Node reports. */
  readonly interfaces?: InterfaceLister;
}

/** An open SSDP socket, which announces the service and answers searches. */
export interface Responder {
  /** Sends byebye messages if the service was announced, and closes the socket. */
  close(): Promise<void>;
}

/** Minimum validity of answers and notifications in seconds (CACHE-CONTROL, max-age; DSP0266). */
const MIN_MAX_AGE_S = 1_800;
/** Maximum number of waiting answers. Further searches get no answer, and clients retry them. */
const MAX_WAITING = 64;
/**
 * Maximum number of answers per second in total. An attacker can forge the address of a search, and
 * the answers must not flood that address.
 */
const MAX_ANSWERS_PER_SECOND = 20;
/** Interval of the check of the interfaces, because networks of machines are created and removed. */
const REJOIN_MS = 30_000;

/**
 * Opens the socket. Announces the service if the interval of notifications is not 0.
 * @throws the errors of node:dgram if the port is not available.
 */
export async function openResponder(options: ResponderOptions): Promise<Responder> {
  const { group, port, ttl, log } = options;
  // Other programs on this host may use SSDP, too. Each program receives all packets of the group.
  const socket = createSocket({ type: 'udp4', reuseAddr: true });
  // Binds to the group's address only, so that unicast packets from anywhere are not received.
  await bind(socket, port, group);
  // Clients repeat a search whose answer could not be sent, so a warning is enough.
  socket.on('error', (error) => log.warn('the SSDP socket failed', { error }));
  socket.setMulticastTTL(ttl);
  // Clients may run on this host.
  socket.setMulticastLoopback(true);
  return new SocketResponder(socket, options);
}

class SocketResponder implements Responder {
  readonly #socket: Socket;
  readonly #options: ResponderOptions;
  /** The validity of answers and notifications, in seconds. */
  readonly #maxAge: number;
  readonly #rejoining: NodeJS.Timeout;
  readonly #notifying: NodeJS.Timeout | undefined;
  /** Answers that wait for their time. */
  readonly #waiting = new Set<NodeJS.Timeout>();
  /** The clients and targets of the waiting answers. */
  readonly #searches = new Set<string>();
  readonly #allowance = createAllowance(MAX_ANSWERS_PER_SECOND);
  /** The queue of notifications. */
  #sending = Promise.resolve();
  #isClosed = false;

  /** @param socket is bound to the group. */
  constructor(socket: Socket, options: ResponderOptions) {
    const { notifyIntervalMs } = options;
    this.#socket = socket;
    this.#options = options;
    this.#maxAge = Math.max(MIN_MAX_AGE_S, Math.ceil((2 * notifyIntervalMs) / 1_000));
    this.#join();
    this.#rejoining = setInterval(() => this.#join(), REJOIN_MS).unref();
    socket.on('message', (packet, sender) => this.#receive(packet, sender));
    if (notifyIntervalMs === 0) return;
    this.#announce();
    this.#notifying = setInterval(() => this.#announce(), notifyIntervalMs).unref();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#rejoining);
    clearInterval(this.#notifying);
    for (const timer of this.#waiting) clearTimeout(timer);
    if (this.#notifying !== undefined) await this.#notify(() => byebyeMessage(this.#options));
    await new Promise<void>((resolve) => this.#socket.close(resolve));
  }

  /** Returns the IPv4 addresses of each interface. */
  #ownAddresses(): readonly (readonly string[])[] {
    return ipv4OfInterfaces(this.#options.interfaces ?? networkInterfaces);
  }

  /**
   * Joins the group on all interfaces. The kernel rejects an interface that is a member already.
   */
  #join(): void {
    const addresses = this.#ownAddresses().flat();
    // If the interfaces are unavailable, joins on the interface of the default route.
    for (const address of addresses.length === 0 ? [undefined] : addresses) {
      try {
        this.#socket.addMembership(this.#options.group, address);
      } catch {
        // The interface has already joined with this or another address, or it does not exist
        // anymore.
      }
    }
  }

  #receive(packet: Buffer, sender: RemoteInfo): void {
    const search = readSearch(packet, this.#options);
    if (search === undefined || sender.port === 0 || this.#waiting.size >= MAX_WAITING) return;
    // Clients repeat searches, because packets may be lost. One pending answer for each client and
    // target is enough.
    const key = `${sender.address} ${sender.port} ${search.target}`;
    if (this.#searches.has(key)) return;
    this.#searches.add(key);
    const { random = Math.random } = this.#options;
    const timer = setTimeout(() => {
      this.#waiting.delete(timer);
      this.#searches.delete(key);
      void this.#answer(search, sender);
    }, random() * search.withinMs);
    this.#waiting.add(timer);
  }

  async #answer({ target }: Search, { address, port }: RemoteInfo): Promise<void> {
    if (!this.#allowance()) return;
    const from = await localAddressFor(address, port);
    const own = this.#ownAddresses().flat();
    const location = from === undefined ? undefined : locationFor(from, address, own, this.#options);
    if (location === undefined || this.#isClosed) return;
    this.#socket.send(searchAnswer(this.#options, target, location, this.#maxAge), port, address, () => undefined);
  }

  #announce(): void {
    void this.#notify((location) => aliveMessage(this.#options, location, this.#maxAge));
  }

  /**
   * Sends through one interface after the other, because the socket has only one outgoing interface at a time.
   */
  #notify(messageFor: (location: string) => string): Promise<void> {
    return (this.#sending = this.#sending.then(() => this.#notifyAll(messageFor)));
  }

  async #notifyAll(messageFor: (location: string) => string): Promise<void> {
    const { group, port } = this.#options;
    for (const addresses of this.#ownAddresses()) {
      // Sends once through each interface. Its other addresses may belong to managers.
      const address = addresses.find((one) => locationOf(one, this.#options) !== undefined);
      const location = address === undefined ? undefined : locationOf(address, this.#options);
      if (address === undefined || location === undefined) continue;
      try {
        this.#socket.setMulticastInterface(address);
        await send(this.#socket, messageFor(location), port, group);
      } catch {
        // The interface has no network, or it does not exist anymore.
      }
    }
  }
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

/**
 * Creates a limiter of a rate: this many calls per second, with the same burst.
 * @returns a function that counts a call, and returns false if the call exceeds the limit.
 */
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
