import { connect, type Socket } from 'node:net';
import { toError } from '../errors.js';
import type { Transport, TransportHandlers } from './transport.js';

const READ_BYTES = 65_536;
/** A process leaves in less than 0.2 s; what a daemon has not taken by then it learns from the end of the connection. */
const END_PATIENCE_MS = 100;

/** What fits into sockaddr_un, its final zero left out. @see unix(7) */
const LONGEST_PATH_BYTES = 107;

/**
 * Connects to a unix socket.
 * @throws what the system says (ENOENT, ECONNREFUSED, EACCES), ENAMETOOLONG, or the signal's reason.
 */
export function connectUnix(path: string, handlers: TransportHandlers, signal: AbortSignal): Promise<Transport> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(reasonOf(signal));
      return;
    }
    // Node would cut the path off and connect to whatever is there.
    if (Buffer.byteLength(path) > LONGEST_PATH_BYTES) {
      const error = new Error(`connect ENAMETOOLONG ${path}: a socket's path has at most ${LONGEST_PATH_BYTES} bytes`);
      reject(Object.assign(error, { code: 'ENAMETOOLONG' }));
      return;
    }
    // Reading into one buffer of our own spares a fresh 64 KiB allocation, and its collection, per chunk.
    const socket = connect({
      path,
      onread: {
        buffer: Buffer.allocUnsafeSlow(READ_BYTES),
        callback: (bytes, buffer) => {
          handlers.data(asBuffer(buffer).subarray(0, bytes));
          return true;
        },
      },
    });
    const abandon = (): void => {
      socket.destroy();
      reject(reasonOf(signal));
    };
    signal.addEventListener('abort', abandon, { once: true });
    socket.once('error', reject);
    socket.once('connect', () => {
      signal.removeEventListener('abort', abandon);
      socket.off('error', reject);
      resolve(new SocketTransport(socket, handlers));
    });
    socket.once('close', () => signal.removeEventListener('abort', abandon));
  });
}

function reasonOf(signal: AbortSignal): Error {
  return toError(signal.reason);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

class SocketTransport implements Transport {
  #gone = false;

  constructor(
    private readonly socket: Socket,
    private readonly handlers: TransportHandlers,
  ) {
    socket.on('error', (error) => this.#close(error));
    socket.on('end', () => this.#close(null));
    socket.on('close', () => this.#close(null));
  }

  #close(error: Error | null): void {
    if (this.#gone) return;
    this.#gone = true;
    this.socket.destroy();
    this.handlers.closed(error);
  }

  write(bytes: Uint8Array, written?: () => void): void {
    if (this.#gone) return;
    if (written === undefined) this.socket.write(bytes);
    else this.socket.write(bytes, (error) => (error ? undefined : written()));
  }

  cork(): void {
    this.socket.cork();
  }

  uncork(): void {
    this.socket.uncork();
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  end(): void {
    this.#gone = true;
    this.socket.unref();
    // Bytes that the peer still sends are of no interest; a peer that takes ours no longer does not keep the socket for ever.
    const patience = setTimeout(() => this.socket.destroy(), END_PATIENCE_MS).unref();
    this.socket.end(() => {
      clearTimeout(patience);
      this.socket.destroy();
    });
  }

  destroy(): void {
    this.#gone = true;
    this.socket.destroy();
  }
}
