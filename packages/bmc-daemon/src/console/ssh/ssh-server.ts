/** Serves serial consoles over SSH: the listeners and the connections of the server. */
import { createServer, type Server, type Socket } from 'node:net';
import ssh2, { type Connection } from 'ssh2';
import { coversAddress, listen } from '@rackless/daemon/network/listener.js';
import type { Log } from '@rackless/daemon/log/log.js';
import type { Logins } from '../../offers/logins.js';
import type { HypervisorDriver } from '../../drivers/driver.js';
import type { SystemRef } from '../../drivers/snapshot/system-snapshot.js';
import type { ConsoleHub } from '../console-hub.js';
import { SshAdmission, type AdmissionLimits } from './ssh-admission.js';
import { sshAlgorithms } from './ssh-algorithms.js';
import { SshConnection, type SshConnectionOptions } from './ssh-connection.js';
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
  /**
   * Returns the UUID of the machine whose manager has the given address; null for an address of the
   * host.
   */
  readonly machineAt: (address: string) => string | null;
  readonly log: Pick<Log, 'info' | 'warn' | 'error' | 'debug'>;
  /** Default: {@link sshLimits}. */
  readonly limits?: Partial<SshLimits>;
}

/** The limits of the server. `consoles` is the maximum number of open consoles of all clients. */
export interface SshLimits extends AdmissionLimits {
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
   * Listens at another address, unless the address of the first listener covers it, for example `0.0.0.0`.
   * @returns a function that closes the listener that this call has opened, if it has opened one.
   * @throws {ListenError} if the address cannot be used.
   */
  addAddress(ip: string): Promise<() => void>;
  /**
   * Ends every console with a message, and stops listening. Resolves when all connections are closed, at most
   * half a second after the call.
   */
  close(): Promise<void>;
}

const KEEPALIVE_MS = 30_000;
const MAX_MISSED_KEEPALIVES = 3;
/** Time for the last messages to arrive. */
const CLOSE_MS = 500;

/** Opens the server. @throws {ListenError} if the port or the address cannot be used. */
export async function openSshServer(options: SshServerOptions): Promise<SshServer> {
  const server = new ConsoleServer(options);
  await server.listen();
  return server;
}

class ConsoleServer implements SshServer {
  readonly maxConsoles: number;
  readonly #options: SshServerOptions;
  readonly #ssh: ssh2.Server;
  readonly #admission: SshAdmission;
  readonly #connections = new Map<Socket, SshConnection>();
  readonly #listeners = new Set<Server>();
  #port: number;
  /** The number of open consoles. */
  #consoles = 0;
  /** The last known list of machines, used while the host does not answer. */
  #machines: readonly SystemRef[] = [];

  constructor(options: SshServerOptions) {
    const limits = { ...sshLimits, ...options.limits };
    this.maxConsoles = limits.consoles;
    this.#options = options;
    this.#port = options.port;
    this.#admission = new SshAdmission(limits, options.log);
    this.#ssh = new ssh2.Server({
      hostKeys: options.hostKeys.map(({ privateKey }) => privateKey),
      algorithms: sshAlgorithms,
      ident: 'Rackless',
      keepaliveInterval: KEEPALIVE_MS,
      keepaliveCountMax: MAX_MISSED_KEEPALIVES,
    });
    this.#ssh.on('connection', (client, { ip, port }) => this.#serve(client, this.#admission.find(ip, port)));
  }

  get port(): number {
    return this.#port;
  }

  /** Opens the first listener. @throws {ListenError} */
  async listen(): Promise<void> {
    const address = (await this.#openListener(this.#options.ip)).address();
    if (typeof address === 'object' && address !== null) this.#port = address.port;
  }

  async addAddress(ip: string): Promise<() => void> {
    if (coversAddress(this.#options.ip, ip)) return () => undefined;
    const listener = await this.#openListener(ip);
    return () => {
      this.#listeners.delete(listener);
      listener.close();
    };
  }

  async close(): Promise<void> {
    const closed = [...this.#listeners].map((listener) => new Promise((resolve) => listener.close(resolve)));
    for (const connection of this.#connections.values()) connection.close('the service ends');
    const timer = setTimeout(() => this.#admission.destroyAll(), CLOSE_MS);
    this.#admission.destroyUnauthenticated();
    await Promise.all(closed);
    clearTimeout(timer);
  }

  async #openListener(ip: string): Promise<Server> {
    const server = createServer((socket) => this.#accept(socket));
    await listen(server, ip, this.#port);
    server.on('error', (error) => this.#options.log.error('accepting an SSH connection failed', { error }));
    this.#listeners.add(server);
    return server;
  }

  #accept(socket: Socket): void {
    if (!this.#admission.admit(socket)) return;
    socket.setNoDelay(true);
    socket.once('close', () => this.#connections.delete(socket));
    // The library listens for errors of the socket only after the client's first message.
    socket.on('error', () => undefined);
    this.#ssh.injectSocket(socket);
  }

  /** Serves a client. @param socket undefined if it has closed already. */
  #serve(client: Connection, socket: Socket | undefined): void {
    if (socket === undefined) {
      client.on('error', () => undefined).end();
      return;
    }
    const connection = new SshConnection({
      ...this.#options,
      client,
      socket,
      ...this.#machinesAt(socket.localAddress ?? ''),
      reserve: () => this.#reserveConsole(),
      onReady: () => this.#admission.markLoggedIn(socket),
    });
    this.#connections.set(socket, connection);
  }

  /** Returns the machines that a client sees at an address of this service. */
  #machinesAt(address: string): Pick<SshConnectionOptions, 'fixedMachine' | 'machines'> {
    const fixedMachine = this.#options.machineAt(address);
    const machines = async () =>
      (await this.#listMachines()).filter(({ uuid }) => fixedMachine === null || uuid === fixedMachine);
    return { fixedMachine, machines };
  }

  async #listMachines(): Promise<readonly SystemRef[]> {
    this.#machines = await this.#options.driver.listSystems().catch(() => this.#machines);
    return this.#machines;
  }

  /**
   * Reserves a console.
   * @returns the function that releases it; undefined if there are too many.
   */
  #reserveConsole(): (() => void) | undefined {
    if (this.#consoles >= this.maxConsoles) return undefined;
    this.#consoles += 1;
    return () => {
      this.#consoles -= 1;
    };
  }
}
