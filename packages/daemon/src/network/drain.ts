/** Closes the connections of a server that stops. */
import type { Server } from 'node:http';
import type { Server as NetServer, Socket } from 'node:net';
import type { Shortcut } from '../http/shortcut/shortcut.js';

/** How often {@link drain} closes connections that have become idle. */
const DRAIN_STEP_MS = 50;
/** How long {@link drain} waits for the first byte of a connection on which the client sent nothing. */
const SILENT_MS = 1000;

/**
 * Returns the set of all open sockets. Node's own list lacks upgraded sockets and sockets in a TLS
 * handshake, and counts a connection without a request as busy.
 */
export function trackSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  // With TLS each connection appears twice. Only the decrypted socket shows whether HTTP bytes
  // came: the encrypted one also counts the handshake.
  for (const event of ['connection', 'secureConnection']) {
    server.on(event, (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
  }
  return sockets;
}

/** The connections of a server. */
interface Connections {
  readonly sockets: ReadonlySet<Socket>;
  readonly shortcut: Shortcut | undefined;
}

/**
 * Stops listening, waits up to `waitMs` for running requests, then destroys all connections. After 1 s, destroys
 * connections on which the client has sent nothing.
 * @param extraServers further servers that pass their connections to `server`.
 */
export function drain(
  server: Server,
  extraServers: readonly NetServer[],
  { sockets, shortcut }: Connections,
  waitMs: number,
): Promise<void> {
  const closeIdle = (): void => {
    server.closeIdleConnections();
    shortcut?.closeIdle();
  };
  const idle = setInterval(closeIdle, DRAIN_STEP_MS);
  // Load balancers, browsers and connection pools open connections that they may never use.
  const silent = setTimeout(() => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }, SILENT_MS);
  const deadline = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, waitMs);
  // The only possible error is "already closed", which is not a problem.
  const ended = [server, ...extraServers].map((each) => new Promise<void>((resolve) => each.close(() => resolve())));
  return Promise.all(ended).then(() => {
    clearInterval(idle);
    clearTimeout(silent);
    clearTimeout(deadline);
  });
}
