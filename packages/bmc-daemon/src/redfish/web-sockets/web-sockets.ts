/**
 * The open WebSockets of the daemon. Ends a WebSocket whose session or account has ended, or whose account
 * has lost the privilege. Limits the number of WebSockets.
 */
import type { ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import { WebSocketServer, type WebSocket } from 'ws';
import type { Answer } from '../answer.js';
import type { WatchIdentity } from '../authenticate.js';
import type { Guard } from '../authorize.js';
import type { Exchange } from '../exchange.js';
import { toRedfishError } from '../messages/driver-errors.js';
import { RedfishError } from '../messages/errors.js';
import { message, messageText, withDetail } from '../messages/messages.js';
import type { Awaitable } from '../resource.js';
import type { OpenedWebSocket } from '../web-socket.js';
import { offeredSubprotocols, subprotocol } from './handshake.js';
import { webSocketLimits, type WebSocketLimits } from './limits.js';
import { OpenWebSocket } from './open-web-socket.js';

/** The end of a WebSocket, for the log and the metrics. */
export interface WebSocketEnd {
  /** The request's id. */
  readonly id: string;
  readonly user: string | null;
  /** The URI template. */
  readonly route: string;
  readonly path: string;
  readonly code: number;
  readonly reason: string;
  /** How long the WebSocket was open, in milliseconds. */
  readonly ms: number;
  /** Bytes of the client's messages. */
  readonly bytesIn: number;
  /** Bytes of the service's messages. */
  readonly bytesOut: number;
}

interface WebSocketsOptions {
  /** Default: the service checks identities only at the handshake. */
  readonly watchIdentity?: WatchIdentity;
  /** Called for each opened WebSocket. */
  readonly onOpen: (route: string) => void;
  readonly onEnd: (end: WebSocketEnd) => void;
  /** Default: {@link webSocketLimits}. */
  readonly limits?: Partial<WebSocketLimits>;
}

/** A path with a WebSocket. */
interface WebSocketRoute {
  /** The URI template. */
  readonly route: string;
  /** Checks the privileges again. @throws {RedfishError} if the client no longer has them. */
  readonly guard: Guard;
  readonly maxPerMachine: number;
}

/** A machine that is ready for a WebSocket, or an error that the client receives as a close code. */
interface Target extends Pick<OpenedWebSocket, 'accept'> {
  /** Null for an error. */
  readonly machine: string | null;
}

interface Entry {
  readonly socket: OpenWebSocket;
  readonly key: string;
  readonly user: string | null;
  /** Ends the WebSocket if the client may no longer use it. */
  readonly check: () => void;
}

/** The open WebSockets of all clients, and their limits. */
export class WebSockets {
  readonly #options: WebSocketsOptions;
  readonly #limits: WebSocketLimits;
  readonly #server: WebSocketServer;
  readonly #open = new Set<Entry>();
  #timer: NodeJS.Timeout | undefined;
  #requestId = '';

  constructor(options: WebSocketsOptions) {
    this.#options = options;
    this.#limits = { ...webSocketLimits, ...options.limits };
    this.#server = new WebSocketServer({
      // One message in each turn of the event loop. Otherwise, thousands of small messages in one packet delay all
      // other clients.
      allowSynchronousEvents: false,
      noServer: true,
      clientTracking: false,
      // Compression costs 300 KB a connection, and the length of compressed secrets reveals them.
      perMessageDeflate: false,
      maxPayload: this.#limits.messageBytes,
      handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
    });
    this.#server.on('headers', (headers: string[]) => headers.push(`X-Request-Id: ${this.#requestId}`));
  }

  /**
   * Returns the answer that opens a WebSocket. A browser cannot show an HTTP error to its page, so a
   * client with our subprotocol gets a handshake and a close code instead.
   * @param find finds the machine.
   * @throws {RedfishError} {DriverError} if `find` fails or a limit is reached. Does not throw for a client
   *   that offers our subprotocol, unless the service has no place for another WebSocket.
   */
  async answer(exchange: Exchange, route: WebSocketRoute, find: () => Awaitable<OpenedWebSocket>): Promise<Answer> {
    let opened: Target;
    try {
      opened = await find();
      const full = this.#fullError(route, opened, exchange.identity.user);
      if (full !== undefined) throw full;
    } catch (error) {
      const knowsCodes = offeredSubprotocols(exchange.request).includes(subprotocol);
      if (!knowsCodes || this.#isFull()) throw error;
      opened = closingTarget(toRedfishError(error, { path: exchange.path }));
    }
    return {
      status: 101,
      headers: [],
      body: undefined,
      upgrade: (response, requestId) => this.#upgrade(exchange, route, opened, { response, requestId }),
    };
  }

  /** Ends all WebSockets with the close code 1001. Does not wait for their end. */
  close(): void {
    for (const { socket } of this.#open) socket.close(1001, 'The service stops.');
  }

  /** Returns an error if another WebSocket would exceed a limit; undefined for a target that only sends an error. */
  #fullError(
    { route, maxPerMachine }: WebSocketRoute,
    { machine }: Target,
    user: string | null,
  ): RedfishError | undefined {
    if (machine === null) return undefined;
    const key = keyOf(route, machine);
    const open = [...this.#open];
    const ofMachine = open.filter((entry) => entry.key === key).length;
    const ofAccount = user === null ? 0 : open.filter((entry) => entry.user === user).length;
    const detail = this.#isFull()
      ? `The service has ${open.length} open WebSockets. Close one of them.`
      : ofMachine >= maxPerMachine
        ? `The machine has ${ofMachine} open WebSockets of this kind. Close one of them.`
        : ofAccount >= this.#limits.connectionsOfAccount
          ? `The account has ${ofAccount} open WebSockets. Close one of them.`
          : undefined;
    if (detail === undefined) return undefined;
    return new RedfishError(429, [withDetail(message('SessionLimitExceeded'), detail)]);
  }

  #isFull(): boolean {
    return this.#open.size >= this.#limits.connections;
  }

  #upgrade(
    exchange: Exchange,
    route: WebSocketRoute,
    opened: Target,
    { response, requestId }: { readonly response: ServerResponse; readonly requestId: string },
  ): void {
    const { request } = exchange;
    // Other handshakes may have taken the last place since `answer`.
    const full = this.#fullError(route, opened, exchange.identity.user);
    const { machine, accept } = full === undefined ? opened : closingTarget(full);
    response.detachSocket(request.socket);
    this.#requestId = requestId;
    this.#server.handleUpgrade(request, request.socket, Buffer.alloc(0), (webSocket) => {
      const socket = this.#add(webSocket, exchange, { ...route, machine, requestId });
      try {
        socket.start(accept(socket));
      } catch (error) {
        webSocket.terminate();
        throw error;
      }
    });
  }

  /** Adds a WebSocket to the open ones. Removes it when it closes. */
  #add(
    webSocket: WebSocket,
    { identity, path }: Exchange,
    {
      route,
      guard,
      machine,
      requestId,
    }: WebSocketRoute & { readonly machine: string | null; readonly requestId: string },
  ): OpenWebSocket {
    const started = performance.now();
    const socket = new OpenWebSocket(webSocket, identity.privileges, this.#limits);
    const currentIdentity = this.#options.watchIdentity?.(identity) ?? (() => identity);
    const entry: Entry = {
      socket,
      key: keyOf(route, machine),
      user: identity.user,
      check: () => {
        const current = currentIdentity();
        if (current === undefined) {
          socket.close(4401, 'The session or the account is no longer valid.');
          return;
        }
        socket.privileges = current.privileges;
        try {
          guard(current, 'GET', () => false);
        } catch {
          socket.close(4403, 'The account no longer has the privilege.');
        }
      },
    };
    this.#open.add(entry);
    this.#options.onOpen(route);
    webSocket.once('close', (code, reason) => {
      this.#open.delete(entry);
      if (this.#open.size === 0) this.#stopTimer();
      const { end = { code, reason: reason.toString() }, bytes } = socket;
      const ms = Math.round(performance.now() - started);
      const { user } = identity;
      this.#options.onEnd({ id: requestId, user, route, path, ...end, ms, bytesIn: bytes.in, bytesOut: bytes.out });
    });
    this.#timer ??= setInterval(() => this.#tick(), this.#limits.tickMs);
    return socket;
  }

  #tick(): void {
    for (const { socket, check } of this.#open) {
      check();
      socket.tick();
    }
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function keyOf(route: string, machine: string | null): string {
  return `${route} ${machine ?? ''}`;
}

/**
 * Returns a WebSocket that sends an error as a close code. A close frame has little space, so its
 * reason has only the detail of each message. A message without a detail gives its text.
 */
function closingTarget({ status, messages }: RedfishError): Target {
  const reason = messages.map((each) => each.detail ?? messageText(each)).join(' ');
  return {
    machine: null,
    accept: (client) => {
      client.close(status < 500 ? 4000 + status : 1011, reason);
      return { message: () => undefined, closed: () => undefined };
    },
  };
}
