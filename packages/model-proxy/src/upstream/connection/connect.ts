/**
 * Opens connections to upstreams: TCP, the tunnel of a forward proxy, and TLS. Reports the stage of
 * a failure.
 */
import { request as requestHttp, type ClientRequest } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect as connectTcp, isIP, type ConnectOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { ForwardProxy } from '../environment-proxy.js';
import { readInto } from './read-buffer.js';
import type { TlsIdentity } from '../tls-identity.js';

interface Host {
  /** Name or address, without brackets. */
  readonly hostname: string;
  readonly port: number;
}

/**
 * The destination of a connection. TLS through a forward proxy uses a tunnel. For plain HTTP
 * through a forward proxy, `hostname` and `port` are those of the forward proxy.
 */
export type Destination = Host &
  (
    { readonly tls: TlsIdentity | null; readonly tunnel: null } | { readonly tls: TlsIdentity; readonly tunnel: Tunnel }
  );

/** A forward proxy that opens a tunnel with CONNECT. */
interface Tunnel {
  readonly proxy: ForwardProxy;
  /** Verifies the proxy's own certificate; null for an http proxy. */
  readonly tls: TlsIdentity | null;
}

/** The stage at which a connection failed. */
type ConnectStage = 'tcp' | 'proxy' | 'tls';

/** The connection failed. `cause` is Node's error, or has the status with which the forward proxy refused a tunnel. */
export class ConnectError extends Error {
  override readonly name = 'ConnectError';
  readonly code = 'RACKLESS_CONNECT';

  constructor(
    readonly stage: ConnectStage,
    override readonly cause: Error,
  ) {
    super(cause.message);
  }
}

type Done = (error: ConnectError | null, socket: Socket | null) => void;

const socketOptions = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
  /**
   * Milliseconds for each address of a host. Node's 250 are too few for hosts on another continent.
   */
  autoSelectFamilyAttemptTimeout: 500,
  /** Makes the reads of large answers through a stream fewer and larger. */
  readableHighWaterMark: 65_536,
  /** Large bodies are in memory already. Larger writes cost a third less. */
  writableHighWaterMark: 1_048_576,
};

/** The TLS sessions of a pool. */
export class TlsSessions {
  /** The last session. A new connection resumes it, which saves the upstream a signature. */
  last: Buffer | undefined;
  /** Number of handshakes, resumed sessions included. */
  handshakes = 0;
}

/**
 * Opens a connection.
 * @param done called once, unless cancelled. The caller owns the socket.
 * @param onRead receives the socket's bytes instead of its stream; absent: the caller reads the
 *   stream.
 * @returns a function that cancels the attempt, so that `done` is not called.
 */
export function openConnection(
  destination: Destination,
  sessions: TlsSessions,
  done: Done,
  onRead?: (bytes: Buffer) => void,
): () => void {
  const attempt = new Attempt(destination, sessions, done, onRead);
  attempt.start();
  return () => attempt.cancel();
}

class Attempt {
  readonly #to: Destination;
  readonly #sessions: TlsSessions;
  readonly #onRead: ((bytes: Buffer) => void) | undefined;
  #done: Done | null;
  #stage: ConnectStage = 'tcp';
  #current: Socket | ClientRequest | null = null;

  constructor(to: Destination, sessions: TlsSessions, done: Done, onRead?: (bytes: Buffer) => void) {
    this.#to = to;
    this.#sessions = sessions;
    this.#done = done;
    this.#onRead = onRead;
  }

  start(): void {
    const { hostname, port, tls, tunnel } = this.#to;
    if (tunnel !== null) {
      this.#openTunnel(tunnel, tls);
      return;
    }
    if (tls !== null) {
      this.#openTls(tls, { host: hostname, port });
      return;
    }
    const socket = connectTcp({ host: hostname, port, ...socketOptions, ...this.#readOptions() });
    this.#watch(socket);
    socket.once('connect', () => this.#settle(socket));
  }

  cancel(): void {
    if (this.#done === null) return;
    this.#done = null;
    this.#current?.destroy();
  }

  #openTls(tls: TlsIdentity, by: ConnectionOptions): void {
    const { hostname } = this.#to;
    const sessions = this.#sessions;
    const options = {
      ...by,
      ...socketOptions,
      ...this.#readOptions(),
      host: hostname,
      ...tlsOf(tls, hostname),
      ALPNProtocols: ['http/1.1'],
      ...(sessions.last === undefined ? {} : { session: sessions.last }),
    };
    const socket = connectTls(options);
    if (by.socket === undefined) {
      socket.once('connect', () => (this.#stage = 'tls'));
    } else this.#stage = 'tls';
    this.#watch(socket);
    // In a tunnel, the option `onread` does not work, so this listener reads the stream.
    if (by.socket !== undefined && this.#onRead !== undefined) socket.on('data', this.#onRead);
    socket.on('session', (session) => (sessions.last = session));
    socket.once('secureConnect', () => {
      sessions.handshakes += 1;
      this.#settle(socket);
    });
  }

  /** @param inner TLS identity for the connection inside the tunnel. */
  #openTunnel({ proxy, tls }: Tunnel, inner: TlsIdentity): void {
    const { hostname, port } = this.#to;
    const authority = `${isIP(hostname) === 6 ? `[${hostname}]` : hostname}:${port}`;
    const options = {
      host: proxy.hostname,
      port: proxy.port,
      method: 'CONNECT',
      path: authority,
      headers: {
        host: authority,
        ...(proxy.authorization === null ? {} : { 'proxy-authorization': proxy.authorization }),
      },
      agent: false,
    };
    this.#stage = 'proxy';
    const request = tls === null ? requestHttp(options) : requestHttps({ ...options, ...tlsOf(tls, proxy.hostname) });
    this.#current = request;
    // `on`, not `once`: an error without a listener would end the process.
    request.on('error', (error) => this.#fail(error));
    request.once('connect', (answer, socket, head) => {
      const status = answer.statusCode ?? 0;
      if (this.#done === null || status < 200 || status > 299) {
        socket.on('error', () => undefined).destroy();
        this.#fail(new Error(`the proxy answered ${status} ${answer.statusMessage ?? ''}`.trimEnd()));
        return;
      }
      // Ignores an error here, because the TLS connection in the tunnel reports it.
      socket.on('error', () => undefined);
      if (head.length > 0) socket.unshift(head);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, 60_000);
      this.#openTls(inner, { socket });
    });
    request.end();
  }

  #readOptions(): ConnectOpts {
    return this.#onRead === undefined ? {} : { onread: readInto(this.#onRead) };
  }

  #watch(socket: Socket): void {
    this.#current = socket;
    socket.on('error', (error) => this.#fail(error));
  }

  #settle(socket: Socket): void {
    const done = this.#done;
    this.#done = null;
    done?.(null, socket);
  }

  #fail(error: Error): void {
    const done = this.#done;
    this.#done = null;
    if (done === null) return;
    // The upstream may have rejected the session, so the next attempt starts without it.
    this.#sessions.last = undefined;
    this.#current?.destroy();
    done(new ConnectError(this.#stage, error), null);
  }
}

function tlsOf(identity: TlsIdentity, hostname: string) {
  return {
    // RFC 6066 §3: a server name is never an address. Node then verifies the certificate against
    // `host`.
    servername: isIP(hostname) === 0 ? hostname : '',
    secureContext: identity.secureContext,
    rejectUnauthorized: identity.verify,
  };
}
