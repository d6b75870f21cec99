/**
 * Serves plain requests without Node's HTTP server, whose parser and streams cost much CPU
 * (docs/decisions/035-shortcut-for-plain-requests.md). Node's server gets every connection whose bytes are not plain.
 */
import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { ShortcutConnection, type ShortcutSettings } from './shortcut-connection.js';

/** Options of {@link openShortcut}. */
interface ShortcutOptions {
  /** The event of the server with a new socket: `connection` or, with TLS, `secureConnection`. */
  readonly event: 'connection' | 'secureConnection';
  /** Returns whether a POST to this path may take the shortcut. */
  readonly isEligible: (url: string) => boolean;
  readonly handle: RequestListener;
  /** How long a connection stays open after its last request, in milliseconds. */
  readonly keepAliveMs: number;
  /** How long a new connection stays open without a byte, in milliseconds; 0: without a limit. */
  readonly firstByteMs: number;
  /** How often both deadlines are checked, in milliseconds; default 5000. */
  readonly checkMs?: number;
}

/** The connections of the shortcut. */
export interface Shortcut {
  /** Closes the connections on which no request runs, except new ones that have not sent a byte yet. */
  closeIdle(): void;
}

const CHECK_MS = 5000;

/** The client has not sent the first byte in time. The code is the one of Node's server. */
class FirstByteError extends Error {
  readonly code = 'ERR_HTTP_REQUEST_TIMEOUT';
}

/** Puts the shortcut between new sockets and the server. Call this before the server listens. */
export function openShortcut(server: Server, options: ShortcutOptions): Shortcut {
  const { event, isEligible, handle, keepAliveMs, firstByteMs, checkMs = CHECK_MS } = options;
  const listeners = server.listeners(event);
  const connections = new Set<ShortcutConnection>();
  const settings: ShortcutSettings = {
    isEligible,
    handle,
    serve: (socket: Socket) => {
      for (const listener of listeners) listener.call(server, socket);
    },
    idleSeconds: Math.floor(keepAliveMs / 1000),
  };
  let timer: NodeJS.Timeout | undefined;
  const check = (): void => {
    const now = performance.now();
    for (const connection of connections) {
      if (!connection.isUsed) {
        if (firstByteMs > 0 && connection.isInactiveSince(now - firstByteMs))
          server.emit('clientError', new FirstByteError('no byte has arrived in time'), connection.socket);
      } else if (connection.isInactiveSince(now - keepAliveMs)) connection.socket.destroy();
    }
    if (connections.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
  const remove = (connection: ShortcutConnection): void => void connections.delete(connection);
  server.removeAllListeners(event);
  server.on(event, (socket: Socket) => {
    connections.add(new ShortcutConnection(socket, settings, remove));
    timer ??= setInterval(check, checkMs).unref();
  });
  return {
    closeIdle: () => {
      for (const connection of connections) if (connection.isUsed && connection.isIdle) connection.socket.destroy();
    },
  };
}
