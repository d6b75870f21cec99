import { connect, type Socket, type OnReadOpts } from 'node:net';
import { toError } from '../errors.js';
import type { Transport, TransportHandlers } from './transport.js';

const READ_BYTES = 65_536;
/** How long `end` waits until the operating system accepts the queued bytes: a libvirtd that hangs reads nothing. */
const END_TIMEOUT_MS = 100;

/** Maximum length of a socket path without the final zero byte. @see unix(7) */
const MAX_PATH_BYTES = 107;

/** How {@link connectSocket} opens a socket. */
interface SocketKind {
  /** Event that says that the socket can be used. */
  readonly ready: 'connect' | 'secureConnect';
  open(onread: OnReadOpts): Socket;
}

/**
 * Connects a socket.
 * @throws the error of the system (ENOENT, ECONNREFUSED, EACCES) or of TLS; an Error if the server closes the
 *   connection first; the abort reason of the signal.
 */
export function connectSocket(kind: SocketKind, handlers: TransportHandlers, signal: AbortSignal): Promise<Transport> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(reasonOf(signal));
      return;
    }
    // One buffer for all reads. By default Node allocates 64 KiB for each chunk.
    const socket = kind.open({
      buffer: Buffer.allocUnsafeSlow(READ_BYTES),
      callback: (bytes, buffer) => {
        handlers.data(asBuffer(buffer).subarray(0, bytes));
        return true;
      },
    });
    const abandon = (): void => {
      socket.destroy();
      reject(reasonOf(signal));
    };
    signal.addEventListener('abort', abandon, { once: true });
    socket.once('error', reject);
    socket.once(kind.ready, () => {
      signal.removeEventListener('abort', abandon);
      socket.off('error', reject);
      resolve(new SocketTransport(socket, handlers));
    });
    socket.once('close', () => {
      signal.removeEventListener('abort', abandon);
      reject(new Error('the connection was closed'));
    });
  });
}

/**
 * Connects to a unix socket.
 * @throws ENAMETOOLONG, and the errors of {@link connectSocket}.
 */
export async function connectUnix(path: string, handlers: TransportHandlers, signal: AbortSignal): Promise<Transport> {
  // Node would truncate a longer path and connect to another socket.
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    const error = new Error(`connect ENAMETOOLONG ${path}: a socket's path has at most ${MAX_PATH_BYTES} bytes`);
    throw Object.assign(error, { code: 'ENAMETOOLONG' });
  }
  return await connectSocket({ ready: 'connect', open: (onread) => connect({ path, onread }) }, handlers, signal);
}

/** Connects to a TCP port. @throws the errors of {@link connectSocket}. */
export function connectTcp(
  address: { readonly host: string; readonly port: number },
  handlers: TransportHandlers,
  signal: AbortSignal,
): Promise<Transport> {
  const open = (onread: OnReadOpts): Socket => connect({ ...address, onread, noDelay: true });
  return connectSocket({ ready: 'connect', open }, handlers, signal);
}

function reasonOf(signal: AbortSignal): Error {
  return toError(signal.reason);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

class SocketTransport implements Transport {
  #closed = false;

  constructor(
    private readonly socket: Socket,
    private readonly handlers: TransportHandlers,
  ) {
    socket.on('error', (error) => this.#close(error));
    socket.on('end', () => this.#close(null));
    socket.on('close', () => this.#close(null));
  }

  #close(error: Error | null): void {
    if (this.#closed) return;
    this.#closed = true;
    this.socket.destroy();
    this.handlers.closed(error);
  }

  write(bytes: Uint8Array, written?: () => void): void {
    if (this.#closed) return;
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
    this.#closed = true;
    this.socket.unref();
    // Closes the socket even if the peer does not read the queued bytes.
    const timer = setTimeout(() => this.socket.destroy(), END_TIMEOUT_MS).unref();
    this.socket.end(() => {
      clearTimeout(timer);
      this.socket.destroy();
    });
  }

  destroy(): void {
    this.#closed = true;
    this.socket.destroy();
  }
}
