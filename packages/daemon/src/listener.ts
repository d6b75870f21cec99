/** The socket that clients connect to, HTTP or HTTPS, from its opening to the end of its last request. */
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
import { networkInterfaces } from 'node:os';
import type { Duplex } from 'node:stream';
import { declineUpgrade } from './declined-upgrade.js';
import { oneAtATime } from './pipelined-requests.js';
import type { TlsOptions } from './tls.js';

export interface ListenOptions {
  /** `''` and `'0.0.0.0'`: every IPv4 address; `'::'`: every address. */
  readonly ip: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Absent: plain HTTP. */
  readonly tls?: TlsOptions;
  /** Answers every request, one of HTTP/1.1 without a Host header included; the requests of one connection one after the other. */
  readonly handle: RequestListener;
  /** Answers what is no HTTP. */
  readonly onClientError: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /** A connection could not be accepted (no more file descriptors); the service goes on. */
  readonly onError: (error: Error) => void;
  /**
   * Takes over the socket of a request for a WebSocket. The listener destroys the socket when it ends. Absent: `handle` answers such
   * a request, as it answers an offer of any other protocol.
   */
  readonly onUpgrade?: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /**
   * Answers a request whose client waits for leave to send its body (`Expect: 100-continue`), and gives it, if it does, by
   * `response.writeContinue()`. Absent: `handle` answers, and the leave is given to everybody.
   */
  readonly onExpectContinue?: RequestListener;
  /**
   * Answers who speaks plain HTTP at a port that speaks TLS, in one request of a connection: with a redirect, before the client
   * gives up on bytes that it can not read. Absent: such a connection is closed, as Node does.
   */
  readonly onPlainHttp?: RequestListener;
  /** What is not as Node has it. */
  readonly server?: ServerTuning;
  /** The machine's interfaces. Default: those that Node finds. */
  readonly interfaces?: typeof networkInterfaces;
}

/**
 * Node's own options, times in milliseconds. Of note: `requestTimeout`, 300 s, is for a whole request with its body, so that a
 * service which takes long uploads sets 0 and bounds the wait for each piece by itself; `headersTimeout`, 60 s, holds all the same.
 */
export type ServerTuning = Pick<ServerOptions, 'requestTimeout' | 'headersTimeout' | 'maxHeaderSize' | 'highWaterMark'>;

export interface Listener {
  /** `http://127.0.0.1:8000`, one for each address that clients may use; at least one. */
  readonly addresses: readonly string[];
  /**
   * Listens at a further address of this machine, with the same port, certificate and requests. It need not be there yet when the
   * listener is opened. Where every address is listened at nothing is to be done.
   * @returns a function that ends it; its connections stay until they end by themselves, or with the listener.
   * @throws {ListenError}
   */
  alsoAt(ip: string): Promise<() => void>;
  /** New connections get this certificate; those that are open keep theirs. Nothing happens with plain HTTP. */
  setTls(tls: TlsOptions): void;
  /** Stops listening, lets requests under way end for so long, then ends their connections. */
  close(waitMs: number): Promise<void>;
}

/** The address can not be listened at. `about` says which setting is the reason. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
  readonly about: 'ip' | 'port';

  constructor(message: string, about: 'ip' | 'port', cause: unknown) {
    super(message, { cause });
    this.about = about;
  }
}

/** Handled like a method that the parser does not know. */
class NoProxyError extends Error {
  readonly code = 'HPE_INVALID_METHOD';
}

/** Longer than clients and proxies keep an idle connection (60 s), so that it is never we who close it under a request. */
const KEEP_ALIVE_MS = 65_000;
/** How often connections that have become idle are closed while the rest ends. */
const DRAIN_STEP_MS = 50;
/** Until a connection that has asked for nothing is not waited for: its first request may be on its way. */
const SILENT_MS = 1000;

/** For the first byte of a connection, and for the whole of a request that is to be redirected. */
const FIRST_BYTE_MS = 60_000;
const PLAIN_REQUEST_MS = 10_000;
/** First byte of a TLS record that is a handshake (RFC 8446 §5.1); no method of HTTP begins with it. */
const TLS_HANDSHAKE = 0x16;

/** Opens the socket. @throws {ListenError} */
export async function openListener(options: ListenOptions): Promise<Listener> {
  const { ip, port, tls, onClientError, onError, onUpgrade } = options;
  const inTurn = oneAtATime();
  const handle = inTurn(options.handle);
  // Node's own answer to a request without a Host has no body and is in no log: `handle` gives one.
  const common = { ...options.server, requireHostHeader: false };
  const secure = tls === undefined ? undefined : createHttpsServer({ ...tls, ...common }, handle);
  const server: Server = secure ?? createHttpServer(common, handle);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.on('clientError', onClientError);
  // An expectation may be ignored (RFC 9110 §10.1.1); Node would answer 417 by itself.
  server.on('checkExpectation', handle);
  if (options.onExpectContinue !== undefined) server.on('checkContinue', inTurn(options.onExpectContinue));
  // Nobody is a proxy here, and Node would close the connection without a word.
  server.on('connect', (_request, socket) => onClientError(new NoProxyError(), socket));
  // The listeners that Node's own server has now, and none that is added below: the socket is known already.
  const serve = server.listeners(secure === undefined ? 'connection' : 'secureConnection');
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    if (onUpgrade !== undefined && request.headers.upgrade?.toLowerCase() === 'websocket') {
      onUpgrade(request, socket, head);
      return;
    }
    declineUpgrade(request, socket, head, (again) => {
      for (const listener of serve) listener.call(server, again);
    });
  });
  if (secure !== undefined && options.onPlainHttp !== undefined) tellProtocolsApart(secure, options.onPlainHttp);
  const sockets = rememberSockets(server);
  await listen(server, ip, port);
  server.on('error', onError);
  const { port: actualPort } = server.address() as AddressInfo; // it listens at TCP, so this is no path
  const scheme = tls === undefined ? 'http' : 'https';
  const doors = new Set<NetServer>();
  return {
    addresses: reachableAddresses(ip, options.interfaces ?? networkInterfaces).map(
      (host) => `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${actualPort}`,
    ),
    async alsoAt(address) {
      if (isListenedAt(ip, address)) return () => undefined;
      // Its connections are the server's, which knows no difference; what it sets for its own sockets is set here.
      const door = createNetServer({ allowHalfOpen: secure === undefined, noDelay: true }, (socket) => {
        server.emit('connection', socket);
      });
      await listen(door, address, actualPort);
      door.on('error', onError);
      doors.add(door);
      // Remembered for as long as it has connections, which the end of the listener waits for.
      door.once('close', () => doors.delete(door));
      return () => void door.close();
    },
    setTls: (next) => secure?.setSecureContext(next),
    close: (waitMs) => drain(server, [...doors], sockets, waitMs),
  };
}

/**
 * Looks at the first byte of each connection before TLS does. Nothing is in the way of a request: a connection is looked at once, and
 * TLS takes its socket over as it came.
 */
function tellProtocolsApart(secure: Server, onPlainHttp: RequestListener): void {
  const toTls = secure.listeners('connection');
  // It never listens: its sockets are given to it.
  const answer: RequestListener = (request, response) => {
    response.shouldKeepAlive = false;
    onPlainHttp(request, response);
  };
  const plain = createHttpServer({ requireHostHeader: false }, answer);
  // The leave to send a body would be one to send a password that anybody can read.
  plain.on('checkContinue', answer);
  plain.on('clientError', (_error, socket) => socket.destroy());
  secure.removeAllListeners('connection');
  secure.on('connection', (socket: Socket) => {
    const silence = setTimeout(() => socket.destroy(), FIRST_BYTE_MS);
    const fail = (): void => void socket.destroy();
    socket.once('error', fail);
    socket.once('close', () => clearTimeout(silence));
    socket.once('readable', () => {
      clearTimeout(silence);
      // An end or an error is readable, too.
      const first = socket.read(1) as Buffer | null;
      if (first === null) {
        socket.destroy();
        return;
      }
      socket.unshift(first);
      socket.removeListener('error', fail);
      if (first[0] === TLS_HANDSHAKE) {
        for (const listener of toTls) listener.call(secure, socket);
        return;
      }
      // Node's own bounds hold for servers that listen.
      const late = setTimeout(() => socket.destroy(), PLAIN_REQUEST_MS);
      socket.once('close', () => clearTimeout(late));
      plain.emit('connection', socket);
    });
  });
}

/** Whether a socket at `ip` takes what comes to any IPv4 address. Node's `::` does. */
export function isEverywhere(ip: string): boolean {
  return ip === '' || ip === '0.0.0.0' || ip === '::';
}

/** Whether a socket at `ip` takes what comes to `address`, too. */
export function isListenedAt(ip: string, address: string): boolean {
  return ip === '::' || (isEverywhere(ip) && isIPv4(address)) || ip === address;
}

/**
 * Has a server listen.
 * @param ip an empty one is every IPv4 address. @param port 0: any free one.
 * @throws {ListenError}
 */
export function listen(server: NetServer, ip: string, port: number): Promise<void> {
  const host = ip === '' ? '0.0.0.0' : ip;
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const [reason, about] = listenFault(error);
      reject(new ListenError(`listening at ${host} port ${port}: ${reason}`, about, error));
    };
    server.once('error', fail);
    server.listen({ host, port }, () => {
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
    case 'EAI_AGAIN':
      return ['there is no such host name', 'ip'];
    default:
      return [error.message, 'ip'];
  }
}

/** What a client can type: the addresses of the interfaces where every address is listened at. */
function reachableAddresses(ip: string, interfaces: typeof networkInterfaces): readonly string[] {
  if (!isEverywhere(ip)) return [ip];
  let all: ReturnType<typeof networkInterfaces>;
  try {
    all = interfaces();
  } catch {
    // They are asked for through netlink, which a sandbox may not have (systemd's RestrictAddressFamilies): they are only told.
    all = {};
  }
  const found = Object.values(all)
    .flatMap((list) => list ?? [])
    // Link-local IPv6 needs a zone, which no URL has.
    .filter(({ family, address }) => family === 'IPv4' || (ip === '::' && !address.startsWith('fe80:')))
    .map(({ address }) => address);
  return found.length === 0 ? ['127.0.0.1'] : found;
}

/**
 * Every socket that is open. Node's own list lacks those that have been upgraded and those whose TLS is not agreed on yet, and counts
 * a connection without a request as busy.
 */
function rememberSockets(server: Server): ReadonlySet<Socket> {
  const sockets = new Set<Socket>();
  // With TLS each connection comes twice, the second time decrypted: that one counts the bytes of requests alone.
  for (const event of ['connection', 'secureConnection']) {
    server.on(event, (socket: Socket) => {
      sockets.add(socket);
      socket.once('close', () => sockets.delete(socket));
    });
  }
  return sockets;
}

function drain(
  server: Server,
  doors: readonly NetServer[],
  sockets: ReadonlySet<Socket>,
  waitMs: number,
): Promise<void> {
  const idle = setInterval(() => server.closeIdleConnections(), DRAIN_STEP_MS);
  // Connections kept ready by who may never use them: load balancers, browsers, pools.
  const silent = setTimeout(() => {
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  }, SILENT_MS);
  const enough = setTimeout(() => {
    for (const socket of sockets) socket.destroy();
  }, waitMs);
  // The one error is that it was closed before, which is what is wanted.
  const ended = [server, ...doors].map((one) => new Promise<void>((resolve) => one.close(() => resolve())));
  return Promise.all(ended).then(() => {
    clearInterval(idle);
    clearTimeout(silent);
    clearTimeout(enough);
  });
}
