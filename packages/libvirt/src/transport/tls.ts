/** A transport over TLS. libvirtd confirms the client's certificate with one byte. */
import { isIP } from 'node:net';
import { connect, type ConnectionOptions } from 'node:tls';
import { toError } from '../errors.js';
import type { LibvirtUri } from '../uri.js';
import { MessageRecords } from './message-records.js';
import { connectSocket } from './socket.js';
import { readTlsFiles, type TlsEnvironment } from './tls-files.js';
import type { OpenTransport, Transport } from './transport.js';

/** Port of libvirtd's TLS socket. */
const DEFAULT_PORT = 16_514;
/** Byte that libvirtd sends after it has accepted the client. */
const ACCEPTED = 1;

/**
 * Returns a function that connects to libvirtd's TLS socket. It reads the certificate files at each
 * attempt, so a renewed certificate needs no restart. It rejects with the error of the socket, of
 * TLS or of a file, or with the signal's reason. It also rejects if libvirtd does not accept this
 * client's certificate.
 */
export function openTls(uri: LibvirtUri, environment?: TlsEnvironment): OpenTransport {
  const { parameters, port } = uri;
  const host = uri.host ?? 'localhost';
  return async (handlers, signal) => {
    const verify = !parameters.noVerify;
    const files = await readTlsFiles({ pkipath: parameters.pkipath, verify }, environment);
    const options: ConnectionOptions = {
      ...files,
      ...parameters.tlsVersions,
      host,
      port: port ?? DEFAULT_PORT,
      rejectUnauthorized: verify,
      // SNI allows only names.
      ...(isIP(host) === 0 ? { servername: host } : {}),
    };
    const confirmation = new Confirmation();
    const transport = await connectSocket(
      {
        ready: 'secureConnect',
        // The types of tls.connect lack `onread`, which it passes to the socket.
        open: (onread) => connect({ ...options, onread } as ConnectionOptions).setNoDelay(true),
      },
      {
        data: (chunk) => {
          const rest = confirmation.receive(chunk);
          if (rest.length > 0) handlers.data(rest);
        },
        closed: (error) => {
          if (confirmation.isComplete) handlers.closed(error);
          else confirmation.closed(error);
        },
      },
      signal,
    ).catch((error: unknown) => {
      throw handshakeError(error);
    });
    return new MessageRecords(await confirmed(transport, confirmation, signal));
  };
}

/**
 * Replaces an error of OpenSSL by an error with only its reason. OpenSSL's message has source files,
 * numbers and line breaks. Returns other errors unchanged.
 */
function handshakeError(thrown: unknown): Error {
  const error = toError(thrown);
  const reason: unknown = 'reason' in error ? error.reason : undefined;
  const isOpenSsl = typeof reason === 'string' && error.message.includes(':error:');
  return isOpenSsl ? new Error(`the TLS handshake failed: ${reason}`, { cause: error }) : error;
}

async function confirmed(transport: Transport, confirmation: Confirmation, signal: AbortSignal): Promise<Transport> {
  const onAbort = (): void => confirmation.fail(toError(signal.reason));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    await confirmation.promise;
    return transport;
  } catch (error) {
    transport.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Waits for the byte with which libvirtd accepts a client. */
class Confirmation {
  readonly promise: Promise<void>;
  isComplete = false;
  #resolve: () => void = () => undefined;
  #reject: (error: Error) => void = () => undefined;

  constructor() {
    this.promise = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // The handshake may fail before a caller waits for the byte.
    this.promise.catch(() => undefined);
  }

  /**
   * Handles received bytes, and returns those after the confirmation. If the first byte is no
   * confirmation, rejects `promise` and returns no bytes.
   */
  receive(chunk: Buffer): Buffer {
    if (this.isComplete) return chunk;
    if (chunk[0] !== ACCEPTED) {
      this.fail(new Error('libvirtd does not accept the certificate of this client'));
      return Buffer.alloc(0);
    }
    this.isComplete = true;
    this.#resolve();
    return chunk.subarray(1);
  }

  closed(error: Error | null): void {
    const why = error === null ? '' : `: ${error.message}`;
    this.fail(
      new Error(`libvirtd closed the connection, perhaps because it does not accept this client's certificate${why}`, {
        cause: error ?? undefined,
      }),
    );
  }

  fail(error: Error): void {
    this.#reject(error);
  }
}
