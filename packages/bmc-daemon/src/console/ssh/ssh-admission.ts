/** Limits the connections of the SSH server, mainly those without a login. */
import type { Socket } from 'node:net';
import type { Log } from '@rackless/daemon/log/log.js';
import { clientNetwork } from '../../host/ip-network.js';

/** The limits of connections. */
export interface AdmissionLimits {
  /** Time for a login, in milliseconds. */
  readonly loginMs: number;
  /** Maximum number of all open connections. */
  readonly connections: number;
  /** Maximum number of connections that have not logged in. */
  readonly unauthenticated: number;
  /** The same maximum for the connections of one network: an IPv4 address, or an IPv6 /64. */
  readonly unauthenticatedPerNetwork: number;
}

/** The open connections of the SSH server. */
export class SshAdmission {
  readonly #limits: AdmissionLimits;
  readonly #log: Pick<Log, 'debug'>;
  /** Sockets by the client's address and port, with which the library identifies a client. */
  readonly #sockets = new Map<string, Socket>();
  /** Sockets without a login, the oldest first, with the timer of their login. */
  readonly #unauthenticated = new Map<Socket, NodeJS.Timeout>();

  constructor(limits: AdmissionLimits, log: Pick<Log, 'debug'>) {
    this.#limits = limits;
    this.#log = log;
  }

  /**
   * Counts a new connection until it closes. Destroys its socket if there are too many, or if the same port of the
   * client has a connection already. If there are too many, may close a connection of another network instead: its
   * oldest one without a login.
   * @returns whether the connection is accepted.
   */
  admit(socket: Socket): boolean {
    const { remoteAddress: address = '', remotePort } = socket;
    const network = clientNetwork(address);
    const sameNetwork = [...this.#unauthenticated.keys()].filter(
      (other) => clientNetwork(other.remoteAddress ?? '') === network,
    ).length;
    const isFull =
      this.#sockets.size >= this.#limits.connections || this.#unauthenticated.size >= this.#limits.unauthenticated;
    const replaced = isFull ? connectionToClose([...this.#unauthenticated.keys()], sameNetwork) : undefined;
    if (sameNetwork >= this.#limits.unauthenticatedPerNetwork || (isFull && replaced === undefined)) {
      this.#log.debug('rejecting an SSH connection: there are too many', { address });
      socket.destroy();
      return false;
    }
    const peer = peerKey(address, remotePort);
    // One client port can connect to two addresses of this service. The library could not tell
    // these connections apart, but the service's address decides which machines the client sees.
    if (this.#sockets.has(peer)) {
      this.#log.debug('rejecting an SSH connection: this port of the client already has a connection', { address });
      socket.destroy();
      return false;
    }
    if (replaced !== undefined) {
      const message = 'an SSH connection without a login was closed to accept another';
      this.#log.debug(message, { address: replaced.remoteAddress });
      this.markLoggedIn(replaced);
      replaced.destroy();
    }
    this.#add(peer, socket);
    return true;
  }

  /** Counts a connection as logged in: ends the time limit of its login. */
  markLoggedIn(socket: Socket): void {
    clearTimeout(this.#unauthenticated.get(socket));
    this.#unauthenticated.delete(socket);
  }

  /** Returns the socket of a client, as the library identifies it; undefined if it has closed. */
  find(address: string | undefined, port: number | undefined): Socket | undefined {
    return this.#sockets.get(peerKey(address, port));
  }

  /** Destroys the sockets without a login. */
  destroyUnauthenticated(): void {
    for (const socket of this.#unauthenticated.keys()) socket.destroy();
  }

  /** Destroys all sockets. */
  destroyAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy();
  }

  #add(peer: string, socket: Socket): void {
    this.#sockets.set(peer, socket);
    this.#unauthenticated.set(
      socket,
      setTimeout(() => socket.destroy(), this.#limits.loginMs),
    );
    socket.once('close', () => {
      this.#sockets.delete(peer);
      this.markLoggedIn(socket);
    });
  }
}

/**
 * Chooses the connection to close for a new one: the oldest of the network with the most
 * unauthenticated connections. Without this choice, a few networks that connect and never log in
 * would lock out all others.
 * @param unauthenticated the oldest first.
 * @param sameNetwork number of unauthenticated connections in the network of the new connection.
 * @returns undefined if no network has more of them than the network of the new connection.
 */
function connectionToClose(unauthenticated: readonly Socket[], sameNetwork: number): Socket | undefined {
  const networks = new Map<string, Socket[]>();
  for (const socket of unauthenticated) {
    const network = clientNetwork(socket.remoteAddress ?? '');
    networks.set(network, [...(networks.get(network) ?? []), socket]);
  }
  const [crowd = []] = [...networks.values()].sort((left, right) => right.length - left.length);
  return crowd.length > sameNetwork ? crowd[0] : undefined;
}

/** Returns the key of a client's address and port. */
function peerKey(address: string | undefined, port: number | undefined): string {
  return `${address ?? ''} ${port ?? 0}`;
}
