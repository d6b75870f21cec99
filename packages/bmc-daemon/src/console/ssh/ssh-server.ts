/** Serves serial consoles over SSH: listeners, and limits for connections. */
import { createServer, type Server, type Socket } from 'node:net';
import ssh2, { type Connection } from 'ssh2';
import { coversAddress, listen } from '@rackless/daemon/network/listener.js';
import type { Log } from '@rackless/daemon/log/log.js';
import type { Logins } from '../../offers/logins.js';
import type { HypervisorDriver } from '../../drivers/driver.js';
import type { SystemRef } from '../../drivers/snapshot/system-snapshot.js';
import { clientNetwork } from '../../host/ip-network.js';
import type { ConsoleHub } from '../console-hub.js';
import { sshAlgorithms } from './ssh-algorithms.js';
import { SshConnection } from './ssh-connection.js';
import type { HostKey } from './ssh-host-keys.js';

/** Options of {@link openSshServer}. */
export interface SshServerOptions {
  /** Host name or address of EMULATOR_LISTEN_IP. */
  readonly ip: string;
  /** 0 chooses a free port. */
  readonly port: number;
  readonly hostKeys: readonly HostKey[];
  readonly access: Pick<Logins, 'accounts' | 'openSession' | 'sessions'>;
  readonly hub: ConsoleHub;
  readonly driver: Pick<HypervisorDriver, 'listSystems'>;
  /** Returns the UUID of the machine with this address; null for an address of the host. */
  readonly machineAt: (address: string) => string | null;
  readonly log: Pick<Log, 'info' | 'warn' | 'error' | 'debug'>;
  /** Default: {@link sshLimits}. */
  readonly limits?: Partial<SshLimits>;
}

/** The limits for all clients together. */
export interface SshLimits {
  readonly loginMs: number;
  readonly connections: number;
  /** Connections that have not logged in. */
  readonly unauthenticated: number;
  /** For one network: an IPv4 address, or an IPv6 /64. */
  readonly unauthenticatedPerNetwork: number;
  readonly consoles: number;
}

/** The default limits. */
export const sshLimits: SshLimits = {
  loginMs: 60_000,
  connections: 100,
  unauthenticated: 30,
  unauthenticatedPerNetwork: 10,
  consoles: 64,
};

/** A running server. */
export interface SshServer {
  /** The port of all listeners. */
  readonly port: number;
  /** Maximum number of consoles of all machines and clients. */
  readonly maxConsoles: number;
  /**
   * Listens at another address.
   * @returns a function that closes this listener.
   * @throws {ListenError}
   */
  addAddress(ip: string): Promise<() => void>;
  /** Ends every console with a message, and stops listening. */
  close(): Promise<void>;
}

const KEEPALIVE_MS = 30_000;
const MAX_MISSED_KEEPALIVES = 3;
/** Time for the last messages to arrive. */
const CLOSE_MS = 500;

/**
 * Opens the server.
 * @throws {ListenError}
 */
export async function openSshServer(options: SshServerOptions): Promise<SshServer> {
  const { log, hostKeys } = options;
  const limits = { ...sshLimits, ...options.limits };
  /** Sockets by the client's address and port, with which the library identifies a client. */
  const sockets = new Map<string, Socket>();
  const unauthenticated = new Map<Socket, NodeJS.Timeout>();
  const connections = new Map<Socket, SshConnection>();
  let consoles = 0;
  let known: readonly SystemRef[] = [];

  const machines = async (): Promise<readonly SystemRef[]> => {
    known = await options.driver.listSystems().catch(() => known);
    return known;
  };
  const atAddress = (address: string) => {
    const only = options.machineAt(address);
    const onlyMachine = async () => (await machines()).filter(({ uuid }) => uuid === only);
    return { only, machines: only === null ? machines : onlyMachine };
  };
  const reserve = (): (() => void) | undefined => {
    if (consoles >= limits.consoles) return undefined;
    consoles += 1;
    return () => {
      consoles -= 1;
    };
  };
  const stopLoginTimer = (socket: Socket): void => {
    clearTimeout(unauthenticated.get(socket));
    unauthenticated.delete(socket);
  };

  const ssh = new ssh2.Server({
    hostKeys: hostKeys.map(({ privateKey }) => privateKey),
    algorithms: sshAlgorithms,
    ident: 'Rackless',
    keepaliveInterval: KEEPALIVE_MS,
    keepaliveCountMax: MAX_MISSED_KEEPALIVES,
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
        reserve,
        onReady: () => stopLoginTimer(socket),
      }),
    );
  });

  const accept = (socket: Socket): void => {
    const { remoteAddress: address = '', remotePort = 0 } = socket;
    const network = clientNetwork(address);
    const sameNetwork = [...unauthenticated.keys()].filter(
      (other) => clientNetwork(other.remoteAddress ?? '') === network,
    ).length;
    const name = endOf(address, remotePort);
    const isFull = sockets.size >= limits.connections || unauthenticated.size >= limits.unauthenticated;
    const victim = isFull ? chooseVictim([...unauthenticated.keys()], sameNetwork) : undefined;
    if (sameNetwork >= limits.unauthenticatedPerNetwork || (isFull && victim === undefined)) {
      log.debug('an SSH connection was refused: there are too many', { address });
      socket.destroy();
      return;
    }
    // One client port can connect to two of our addresses. The library could not tell them apart,
    // but the local address decides which machines the client sees.
    if (sockets.has(name)) {
      log.debug('an SSH connection was refused: its other end has one already', { address });
      socket.destroy();
      return;
    }
    if (victim !== undefined) {
      log.debug('an SSH connection without a login was closed to accept another', { address: victim.remoteAddress });
      stopLoginTimer(victim);
      victim.destroy();
    }
    sockets.set(name, socket);
    unauthenticated.set(
      socket,
      setTimeout(() => socket.destroy(), limits.loginMs),
    );
    socket.setNoDelay(true);
    socket.once('close', () => {
      sockets.delete(name);
      stopLoginTimer(socket);
      connections.delete(socket);
    });
    // The library handles errors only after the client's first message.
    socket.on('error', () => undefined);
    ssh.injectSocket(socket);
  };
  const listeners = new Set<Server>();
  const openListener = async (ip: string, port: number): Promise<Server> => {
    const server = createServer(accept);
    await listen(server, ip, port);
    server.on('error', (error) => log.error('accepting an SSH connection', { error }));
    listeners.add(server);
    return server;
  };
  const address = (await openListener(options.ip, options.port)).address();
  const port = typeof address === 'object' && address !== null ? address.port : options.port;

  return {
    port,
    maxConsoles: limits.consoles,
    async addAddress(ip) {
      if (coversAddress(options.ip, ip)) return () => undefined;
      const listener = await openListener(ip, port);
      return () => {
        listeners.delete(listener);
        listener.close();
      };
    },
    async close() {
      const closed = Promise.all([...listeners].map((listener) => new Promise((resolve) => listener.close(resolve))));
      for (const connection of connections.values()) connection.close('the service ends');
      const timer = setTimeout(() => {
        for (const socket of sockets.values()) socket.destroy();
      }, CLOSE_MS);
      for (const socket of unauthenticated.keys()) socket.destroy();
      await closed;
      clearTimeout(timer);
    },
  };
}

/**
 * Chooses the connection to close for a new one: the oldest of the network with the most
 * unauthenticated connections. Otherwise a few networks that connect and never log in would lock
 * out all others.
 * @param unauthenticated the oldest first.
 * @param sameNetwork number of connections in the network of the new connection. Returns undefined
 *   if no network has more.
 */
function chooseVictim(unauthenticated: readonly Socket[], sameNetwork: number): Socket | undefined {
  const networks = new Map<string, Socket[]>();
  for (const socket of unauthenticated) {
    const network = clientNetwork(socket.remoteAddress ?? '');
    networks.set(network, [...(networks.get(network) ?? []), socket]);
  }
  const [crowd = []] = [...networks.values()].sort((left, right) => right.length - left.length);
  return crowd.length > sameNetwork ? crowd[0] : undefined;
}

function endOf(address: string | undefined, port: number | undefined): string {
  return `${address ?? ''} ${port ?? 0}`;
}
