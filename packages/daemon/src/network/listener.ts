/** The HTTP or HTTPS server socket of a daemon, from opening to graceful shutdown. */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import {
  createServer as createNetServer,
  isIPv4,
  isIPv6,
  type AddressInfo,
  type Server as NetServer,
  type Socket,
} from 'node:net';
import type { Duplex } from 'node:stream';
import { declineUpgrade } from '../http/declined-upgrade.js';
import { isWebSocketRequest } from '../http/upgrade-response.js';
import { openShortcut, type Shortcut } from '../http/shortcut/shortcut.js';
import { detectPlainHttp } from '../http/plain-http.js';
import { serializeRequests } from '../http/pipelined-requests.js';
import { limitUnreadBodies } from '../http/unread-body.js';
import { drain, trackSockets } from './drain.js';
import { listInterfaces, type NetworkInterfaces } from './network-interfaces.js';
import type { TlsOptions } from './tls.js';
import { MAX_STILL_CHECKS, UnreadAnswers } from './unread-answers.js';

/** Options of {@link openListener}. */
export interface ListenOptions {
  /** An address or a host name. `''` and `'0.0.0.0'`: all IPv4 addresses; `'::'`: all addresses. */
  readonly ip: string;
  /** 0: the kernel chooses a free port. */
  readonly port: number;
  /** Absent: plain HTTP. */
  readonly tls?: TlsOptions;
  /**
   * Answers every request, also HTTP/1.1 requests without a Host header. The listener runs the
   * requests of one connection one after the other.
   */
  readonly handle: RequestListener;
  /** Called for invalid HTTP and at timeouts, as Node's `clientError` event, and for CONNECT requests. */
  readonly onClientError: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /**
   * Reports that a connection could not be accepted (no free file descriptors). The listener
   * continues.
   */
  readonly onError: (error: Error) => void;
  /**
   * Gets the socket of a WebSocket request. {@link Listener.close} destroys the socket after its
   * wait. Absent: `handle` answers WebSocket requests, like all other `Upgrade` requests.
   */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Returns whether `onUpgrade` gets this WebSocket request. Default: it gets all. */
  readonly isUpgradable?: (request: IncomingMessage) => boolean;
  /**
   * Handles requests with `Expect: 100-continue`. Call `response.writeContinue()` to accept the
   * body. Absent: the listener accepts every body and calls `handle`.
   */
  readonly onExpectContinue?: RequestListener;
  /**
   * Returns whether POST requests for a path may take the shortcut, which needs less CPU than Node's HTTP server.
   * Their handler must call `response.writeHead` with a list of headers, and must not use `setHeader`. Absent:
   * no request takes it.
   */
  readonly takesShortcut?: (path: string) => boolean;
  /**
   * Handles plain HTTP requests on a TLS port, one per connection, for example with a redirect.
   * Absent: the listener closes such connections, as Node does.
   */
  readonly onPlainHttp?: RequestListener;
  /**
   * Maximum time in which a client reads none of the unsent bytes, in milliseconds. The listener then closes the
   * connection, also that of a WebSocket. Absent: no limit.
   */
  readonly unreadAnswerMs?: number;
  /** Changes of Node's default limits. */
  readonly server?: ServerTuning;
  /** Returns the network interfaces of this host. Default: `os.networkInterfaces`. */
  readonly interfaces?: () => NetworkInterfaces;
}

/**
 * Node's own server options; times in milliseconds. `requestTimeout` (300 s) limits the whole
 * request with its body. A service with long uploads sets it to 0 and limits the wait for each
 * chunk itself. `headersTimeout` (60 s) still applies, also to connections without a request.
 */
type ServerTuning = Pick<ServerOptions, 'requestTimeout' | 'headersTimeout' | 'maxHeaderSize' | 'highWaterMark'>;

/** An open server socket. Close it with {@link Listener.close}. */
export interface Listener {
  /** URLs that clients may use, for example `http://127.0.0.1:8000`. At least one. */
  readonly addresses: readonly string[];
  /**
   * Listens on a further address of this host, with the same port, certificate and handlers. Does
   * nothing if the listener already covers the address.
   * @param ip an address of the host, also one that it got after the listener opened.
   * @returns a function that stops listening on this address. Open connections stay open.
   * @throws {ListenError} if the address is not available, or was added before.
   */
  addAddress(ip: string): Promise<() => void>;
  /** Sets the certificate for new connections. Does nothing on a plain HTTP listener. */
  setTls(tls: TlsOptions): void;
  /**
   * Stops listening, waits up to `waitMs` for running requests, then destroys all connections. After 1 s,
   * destroys the connections on which the client has sent nothing.
   */
  close(waitMs: number): Promise<void>;
}

/** The listener cannot use its address or port. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly about: 'ip' | 'port'; // the setting to correct

  constructor(message: string, about: 'ip' | 'port', cause: unknown) {
    super(message, { cause });
    this.about = about;
  }
}

/** The error for a CONNECT request. Its code is the one of Node's parser for an unknown method. */
class ConnectMethodError extends Error {
  readonly code = 'HPE_INVALID_METHOD';
}

/**
 * How long the server keeps an idle connection: longer than the usual 60 s of clients and proxies.
 * With a shorter time, the server could close a connection while a client sends a request on it.
 */
const KEEP_ALIVE_MS = 65_000;

/**
 * Maximum number of connections that wait until the event loop accepts them. Linux uses the lower
 * of this number and `net.core.somaxconn`. With more connections, the kernel drops the first packet
 * of a connection, and the client repeats it after 1, 3 and 7 s. libuv accepts one connection in a
 * turn of the event loop, so 2,000 clients that connected at once exceeded Node's default of 511.
 */
const BACKLOG = 4096;

/**
 * Deadline for the headers of a request. Node's own default is 0, no deadline, if `requestTimeout`
 * is 0.
 */
const HEADERS_MS = 60_000;

/**
 * Opens the server socket and listens.
 * @throws {ListenError} if the address or the port cannot be used.
 */
export async function openListener(options: ListenOptions): Promise<Listener> {
  const { ip, port, tls, onClientError, onError, onUpgrade, isUpgradable = () => true } = options;
  const serialize = serializeRequests();
  const handle = serialize(limitUnreadBodies(options.handle));
  // Without this option Node answers a request without a Host header itself: no body, no log line.
  const common = { headersTimeout: HEADERS_MS, ...options.server, requireHostHeader: false };
  const secure = tls === undefined ? undefined : createHttpsServer({ ...tls, ...common }, handle);
  const server: Server = secure ?? createHttpServer(common, handle);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on('clientError', onClientError);
  // A server may ignore an unknown expectation (RFC 9110 §10.1.1). Node would answer 417 itself.
  server.on('checkExpectation', handle);
  if (options.onExpectContinue !== undefined)
    server.on('checkContinue', serialize(limitUnreadBodies(options.onExpectContinue)));
  // Without a handler of this event, Node closes the connection without a response.
  server.on('connect', (_request, socket) => onClientError(new ConnectMethodError(), socket));
  // Node's HTTP parser is one of these functions. The functions that `detectPlainHttp` and
  // `trackSockets` add later must not see the same socket twice.
  const connectionHandlers = server.listeners(secure === undefined ? 'connection' : 'secureConnection');
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (onUpgrade !== undefined && isWebSocketRequest(request) && isUpgradable(request)) {
      onUpgrade(request, socket, head);
      return;
    }
    declineUpgrade(request, socket, head, (reopened) => {
      for (const connectionHandler of connectionHandlers) connectionHandler.call(server, reopened);
    });
  });
  const shortcut = shortcutOf(server, secure === undefined ? 'connection' : 'secureConnection', options);
  if (secure !== undefined && options.onPlainHttp !== undefined) detectPlainHttp(secure, options.onPlainHttp);
  const sockets = trackSockets(server);
  await listen(server, ip, port);
  server.on('error', onError);
  if (options.unreadAnswerMs !== undefined) limitUnreadAnswers(server, sockets, options.unreadAnswerMs);
  const { port: actualPort } = server.address() as AddressInfo; // a TCP server: never a path
  const scheme = tls === undefined ? 'http' : 'https';
  const extraServers = new Set<NetServer>();
  return {
    addresses: reachableAddresses(ip, listInterfaces(options.interfaces)).map(
      (host) => `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${actualPort}`,
    ),
    async addAddress(address) {
      if (coversAddress(ip, address)) return () => undefined;
      // Passes its connections to the main server. The options are those that Node sets for HTTP
      // servers.
      const extra = createNetServer({ allowHalfOpen: secure === undefined, noDelay: true }, (socket) => {
        server.emit('connection', socket);
      });
      await listen(extra, address, actualPort);
      extra.on('error', onError);
      extraServers.add(extra);
      // The server stays in the set until its last connection has ended, because `drain` waits for
      // that.
      extra.once('close', () => extraServers.delete(extra));
      return () => void extra.close();
    },
    setTls: (next) => secure?.setSecureContext(next),
    close: (waitMs) => drain(server, [...extraServers], { sockets, shortcut }, waitMs),
  };
}

/** Returns whether a socket at `ip` accepts connections to all IPv4 addresses, as Node's sockets at `::` do. */
export function isWildcardAddress(ip: string): boolean {
  return ip === '' || ip === '0.0.0.0' || ip === '::';
}

/** Returns true if a socket that listens on `ip` accepts connections to `address`. */
export function coversAddress(ip: string, address: string): boolean {
  return ip === '::' || (isWildcardAddress(ip) && isIPv4(address)) || ip === address;
}

/**
 * Starts to listen.
 * @param ip an empty string means all IPv4 addresses.
 * @param port 0: the kernel chooses a free port.
 * @throws {ListenError} if the address or the port cannot be used.
 */
export function listen(server: NetServer, ip: string, port: number): Promise<void> {
  const host = ip === '' ? '0.0.0.0' : ip;
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const [reason, about] = listenFault(error);
      reject(new ListenError(`listening at ${host} port ${port}: ${reason}`, about, error));
    };
    server.once('error', fail);
    server.listen({ host, port, backlog: BACKLOG }, () => {
      server.removeListener('error', fail);
      resolve();
    });
  });
}

function listenFault(error: NodeJS.ErrnoException): readonly [string, 'ip' | 'port'] {
  switch (error.code) {
    case 'EADDRINUSE':
      return ['the port is in use', 'port'];
    case 'EACCES':
      return ['permission denied: ports below 1024 are for root', 'port'];
    case 'EADDRNOTAVAIL':
      return ['this machine has no such address', 'ip'];
    case 'ENOTFOUND':
      return ['there is no such host name', 'ip'];
    case 'EAI_AGAIN':
      return ['the name server does not answer', 'ip'];
    default:
      return [error.message, 'ip'];
  }
}

/** Returns addresses that clients can use: for a wildcard address, those of the interfaces, or 127.0.0.1 if none. */
function reachableAddresses(ip: string, interfaces: NetworkInterfaces): readonly string[] {
  if (!isWildcardAddress(ip)) return [ip];
  const interfaceAddresses = Object.values(interfaces)
    .flatMap((list) => list ?? [])
    // A link-local IPv6 address needs a zone, which URLs do not support.
    .filter(({ family, address }) => family === 'IPv4' || (ip === '::' && !address.startsWith('fe80:')))
    .map(({ address }) => address);
  return interfaceAddresses.length === 0 ? ['127.0.0.1'] : interfaceAddresses;
}

function limitUnreadAnswers(server: Server, sockets: ReadonlySet<Socket>, limitMs: number): void {
  const unread = new UnreadAnswers(sockets);
  const timer = setInterval(() => unread.check(), limitMs / MAX_STILL_CHECKS);
  server.once('close', () => clearInterval(timer));
}

function shortcutOf(
  server: Server,
  event: 'connection' | 'secureConnection',
  { takesShortcut, handle, server: tuning }: ListenOptions,
): Shortcut | undefined {
  if (takesShortcut === undefined) return undefined;
  const firstByteMs = tuning?.headersTimeout ?? HEADERS_MS;
  return openShortcut(server, { event, isEligible: takesShortcut, handle, keepAliveMs: KEEP_ALIVE_MS, firstByteMs });
}
