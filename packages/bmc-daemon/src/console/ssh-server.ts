/** Serial consoles over SSH: the port, and how many may be there at a time. */
import { createServer, type Server, type Socket } from 'node:net';
import ssh2, { type Connection } from 'ssh2';
import { coversAddress, listen } from '@rackless/daemon/listener.js';
import type { Log } from '@rackless/daemon/log.js';
import type { Access } from '../auth/access.js';
import { networkOf } from '../auth/login.js';
import type { HypervisorDriver, SystemRef } from '../drivers/driver.js';
import type { ConsoleHub } from './console-hub.js';
import { sshAlgorithms } from './ssh-algorithms.js';
import { SshConnection } from './ssh-connection.js';
import type { HostKey } from './ssh-host-keys.js';

export interface SshServerOptions {
  /** Host name or address, as EMULATOR_LISTEN_IP. */
  readonly ip: string;
  /** 0: any free one. */
  readonly port: number;
  readonly hostKeys: readonly HostKey[];
  readonly access: Pick<Access, 'accounts' | 'openSession' | 'sessions'>;
  readonly hub: ConsoleHub;
  readonly driver: Pick<HypervisorDriver, 'listSystems'>;
  /** UUID of the machine whose own address it is; null: the host's. */
  readonly machineAt: (address: string) => string | null;
  readonly log: Pick<Log, 'info' | 'warn' | 'error' | 'debug'>;
  /** Default: {@link sshLimits}. */
  readonly limits?: Partial<SshLimits>;
}

/** How much of anything there may be at a time. */
export interface SshLimits {
  readonly loginMs: number;
  readonly connections: number;
  readonly strangers: number;
  /** Of one network: an IPv4 address, or an IPv6 /64. */
  readonly strangersOfOne: number;
  readonly consoles: number;
}

export const sshLimits: SshLimits = {
  loginMs: 60_000,
  connections: 100,
  strangers: 30,
  strangersOfOne: 10,
  consoles: 64,
};

export interface SshServer {
  /** That it listens at. */
  readonly port: number;
  /** At a time, of all machines and clients. */
  readonly mostConsoles: number;
  /** Listens at another address, too. @returns what ends that. @throws as {@link openSshServer}. */
  addAddress(ip: string): Promise<() => void>;
  /** Ends every console, which is told so, and stops listening. */
  close(): Promise<void>;
}

const KEEPALIVE_MS = 30_000;
const MOST_MISSED_KEEPALIVES = 3;
/** For goodbyes to go out. */
const CLOSE_MS = 500;

/** @throws {ListenError} */
export async function openSshServer(options: SshServerOptions): Promise<SshServer> {
  const { log, hostKeys } = options;
  const limits = { ...sshLimits, ...options.limits };
  /** Sockets by their other end, which is how the library names a client. */
  const sockets = new Map<string, Socket>();
  const strangers = new Map<Socket, NodeJS.Timeout>();
  const connections = new Map<Socket, SshConnection>();
  let consoles = 0;
  let known: readonly SystemRef[] = [];

  const machines = async (): Promise<readonly SystemRef[]> => {
    known = await options.driver.listSystems().catch(() => known);
    return known;
  };
  const atAddress = (address: string) => {
    const only = options.machineAt(address);
    const ofOne = async () => (await machines()).filter(({ uuid }) => uuid === only);
    return { only, machines: only === null ? machines : ofOne };
  };
  const takePlace = (): (() => void) | undefined => {
    if (consoles >= limits.consoles) return undefined;
    consoles += 1;
    return () => {
      consoles -= 1;
    };
  };
  const isNoStranger = (socket: Socket): void => {
    clearTimeout(strangers.get(socket));
    strangers.delete(socket);
  };

  const ssh = new ssh2.Server({
    hostKeys: hostKeys.map(({ privateKey }) => privateKey),
    algorithms: sshAlgorithms,
    ident: 'Rackless',
    keepaliveInterval: KEEPALIVE_MS,
    keepaliveCountMax: MOST_MISSED_KEEPALIVES,
  });
  ssh.on('connection', (client: Connection, { ip, port }) => {
    const socket = sockets.get(endOf(ip, port));
    if (socket === undefined) {
      client.on('error', () => undefined).end();
      return;
    }
    connections.set(
      socket,
      new SshConnection({
        ...options,
        client,
        socket,
        ...atAddress(socket.localAddress ?? ''),
        takePlace,
        onReady: () => isNoStranger(socket),
      }),
    );
  });

  const accept = (socket: Socket): void => {
    const { remoteAddress: address = '', remotePort = 0 } = socket;
    const network = networkOf(address);
    const ofOne = [...strangers.keys()].filter((other) => networkOf(other.remoteAddress ?? '') === network).length;
    const name = endOf(address, remotePort);
    const isFull = sockets.size >= limits.connections || strangers.size >= limits.strangers;
    const victim = isFull ? oldestOfCrowd([...strangers.keys()], ofOne) : undefined;
    if (ofOne >= limits.strangersOfOne || (isFull && victim === undefined)) {
      log.debug('an SSH connection was refused: there are too many', { address });
      socket.destroy();
      return;
    }
    // From one port to two of our addresses: which of them it came to decides what it may see, and the library names the far end alone.
    if (sockets.has(name)) {
      log.debug('an SSH connection was refused: its other end has one already', { address });
      socket.destroy();
      return;
    }
    if (victim !== undefined) {
      log.debug('an SSH connection without a log-in made room for another', { address: victim.remoteAddress });
      isNoStranger(victim);
      victim.destroy();
    }
    sockets.set(name, socket);
    strangers.set(
      socket,
      setTimeout(() => socket.destroy(), limits.loginMs),
    );
    socket.setNoDelay(true);
    socket.once('close', () => {
      sockets.delete(name);
      isNoStranger(socket);
      connections.delete(socket);
    });
    // The library listens to errors once the client has said hello.
    socket.on('error', () => undefined);
    ssh.injectSocket(socket);
  };
  const doors = new Set<Server>();
  const openDoor = async (ip: string, port: number): Promise<Server> => {
    const server = createServer(accept);
    await listen(server, ip, port);
    server.on('error', (error) => log.error('accepting an SSH connection', { error }));
    doors.add(server);
    return server;
  };
  const address = (await openDoor(options.ip, options.port)).address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;

  return {
    port,
    mostConsoles: limits.consoles,
    async addAddress(ip) {
      if (coversAddress(options.ip, ip)) return () => undefined;
      const door = await openDoor(ip, port);
      return () => {
        doors.delete(door);
        door.close();
      };
    },
    async close() {
      const closed = Promise.all([...doors].map((door) => new Promise((resolve) => door.close(resolve))));
      for (const connection of connections.values()) connection.close('the service ends');
      const timer = setTimeout(() => {
        for (const socket of sockets.values()) socket.destroy();
      }, CLOSE_MS);
      for (const socket of strangers.keys()) socket.destroy();
      await closed;
      clearTimeout(timer);
    },
  };
}

/**
 * Chooses the connection that makes room for a new one: the oldest of the network with the most strangers. A few networks that
 * connect and never log in would otherwise keep every other client out.
 * @param strangers connections without a log-in, the oldest first.
 * @param ofOne strangers in the network of the new connection. A network makes no room for one that has as many.
 */
function oldestOfCrowd(strangers: readonly Socket[], ofOne: number): Socket | undefined {
  const networks = new Map<string, Socket[]>();
  for (const socket of strangers) {
    const network = networkOf(socket.remoteAddress ?? '');
    networks.set(network, [...(networks.get(network) ?? []), socket]);
  }
  const [crowd = []] = [...networks.values()].sort((left, right) => right.length - left.length);
  return crowd.length > ofOne ? crowd[0] : undefined;
}

function endOf(address: string | undefined, port: number | undefined): string {
  return `${address ?? ''} ${port ?? 0}`;
}
