/**
 * Closes connections whose clients do not read. Such a client, for example a stopped process, still acknowledges TCP's
 * probes. So TCP keeps the connection, and the request would never end.
 */
import type { Socket } from 'node:net';

/** Number of checks without progress after which a connection is closed. */
export const MAX_STILL_CHECKS = 10;

/** The state of a connection that had unsent bytes at the last check. */
interface Unsent {
  readonly progress: string;
  /** Number of checks in a row with the same progress. */
  readonly stillChecks: number;
}

/** Finds connections with unsent bytes and without progress. */
export class UnreadAnswers {
  readonly #sockets: Iterable<Socket>;
  readonly #unsent = new WeakMap<Socket, Unsent>();

  /** @param sockets the open connections. */
  constructor(sockets: Iterable<Socket>) {
    this.#sockets = sockets;
  }

  /** Closes connections whose clients have read nothing in the last {@link MAX_STILL_CHECKS} checks. */
  check(): void {
    for (const socket of this.#sockets) {
      if (socket.writableLength === 0) {
        this.#unsent.delete(socket);
        continue;
      }
      const progress = progressOf(socket);
      const before = this.#unsent.get(socket);
      const stillChecks = before?.progress === progress ? before.stillChecks + 1 : 0;
      if (stillChecks < MAX_STILL_CHECKS) this.#unsent.set(socket, { progress, stillChecks });
      else socket.destroy();
    }
  }
}

/** The members that Node's declarations of a socket's handle lack. Node's own socket timeouts use `writeQueueSize`. */
interface Handle {
  /** Bytes that libuv got. Node passes the next bytes only after libuv has sent the previous ones. */
  readonly bytesWritten?: number;
  /** Bytes that libuv has not sent yet. */
  readonly writeQueueSize?: number;
  /** With TLS, the handle of the encrypted connection. */
  readonly _parent?: Handle;
}

/**
 * Returns a text that changes when the kernel accepts bytes. It does not change when only the daemon writes more. A
 * single write can have many megabytes, and only its handle shows how much of it is left.
 */
function progressOf(socket: Socket): string {
  // Node's declarations of a socket lack `_handle`.
  const handle = (socket as unknown as { readonly _handle?: Handle | null })._handle;
  const { bytesWritten = 0, writeQueueSize = 0 } = handle?._parent ?? handle ?? {};
  return `${bytesWritten} ${writeQueueSize}`;
}
