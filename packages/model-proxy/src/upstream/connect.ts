/** Opens one connection to an upstream: TCP, a tunnel where a forward proxy asks for one, TLS. Knows at which of them it failed. */
import { request as requestHttp, type ClientRequest } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect as connectTcp, isIP, type ConnectOpts, type Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import type { ForwardProxy } from './environment-proxy.js';
import { readInto } from './read-buffer.js';
import type { TlsIdentity } from './tls-identity.js';

interface Host {
  /** A name or an address, without brackets. */
  readonly hostname: string;
  readonly port: number;
}

/** Where to, and how: TLS by way of a forward proxy goes through a tunnel; plain HTTP has the proxy for its host. */
export type Destination = Host &
  (
    { readonly tls: TlsIdentity | null; readonly tunnel: null } | { readonly tls: TlsIdentity; readonly tunnel: Tunnel }
  );

/** What CONNECT is asked of. */
export interface Tunnel {
  readonly proxy: ForwardProxy;
  /** Checks the proxy's own certificate; null unless it is an https proxy. */
  readonly tls: TlsIdentity | null;
}

/** How far a connection had got. */
export type ConnectStage = 'tcp' | 'proxy' | 'tls';

/** A connection could not be made. `cause` is Node's error. */
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

const tuning = {
  noDelay: true,
  keepAlive: true,
  keepAliveInitialDelay: 60_000,
  /** Between the attempts on several addresses of one host, in milliseconds; Node's 250 give up hosts on another continent. */
  autoSelectFamilyAttemptTimeout: 500,
  /** Fewer and larger reads of large answers, where they are read by a stream. */
  readableHighWaterMark: 65_536,
  /** Large bodies are kept whole in any case: handed over in larger portions, they cost a third less. */
  writableHighWaterMark: 1_048_576,
};

/** TLS sessions of one pool: a new connection resumes the last one and so costs the upstream no signature. */
export class TlsSessions {
  last: Buffer | undefined;
  /** Handshakes made, resumed ones too. */
  handshakes = 0;
}

/**
 * Opens a connection.
 * @param done called once, unless cancelled; the socket is the caller's.
 * @param onRead gets what the socket receives, past its stream; absent: whoever has the socket reads the stream.
 * @returns cancels the attempt: `done` is not called any more. Does nothing once it has been.
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
    const socket = connectTcp({ host: hostname, port, ...tuning, ...this.#reading() });
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
      ...tuning,
      ...this.#reading(),
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
    // What TLS within a tunnel reads goes by its stream.
    if (by.socket !== undefined && this.#onRead !== undefined) socket.on('data', this.#onRead);
    socket.on('session', (session) => (sessions.last = session));
    socket.once('secureConnect', () => {
      sessions.handshakes += 1;
      this.#settle(socket);
    });
  }

  /** @param inner what is spoken through it. */
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
    // Every one of them: an error without a listener would end the process.
    request.on('error', (error) => this.#fail(error));
    request.once('connect', (answer, socket, head) => {
      const status = answer.statusCode ?? 0;
      if (this.#done === null || status < 200 || status > 299) {
        socket.on('error', () => undefined).destroy();
        this.#fail(new Error(`the proxy answered ${status} ${answer.statusMessage ?? ''}`.trimEnd()));
        return;
      }
      // Its end is the end of the TLS connection in it, which tells the error.
      socket.on('error', () => undefined);
      if (head.length > 0) socket.unshift(head);
      socket.setNoDelay(true);
      socket.setKeepAlive(true, 60_000);
      this.#openTls(inner, { socket });
    });
    request.end();
  }

  #reading(): ConnectOpts {
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
    // A session that the upstream no longer likes must not spoil the next attempt too.
    this.#sessions.last = undefined;
    this.#current?.destroy();
    done(new ConnectError(this.#stage, error), null);
  }
}

function tlsOf(identity: TlsIdentity, hostname: string) {
  return {
    // RFC 6066 §3: no addresses as server name. The certificate is checked against the host then.
    servername: isIP(hostname) === 0 ? hostname : '',
    secureContext: identity.secureContext,
    rejectUnauthorized: identity.verify,
  };
}
