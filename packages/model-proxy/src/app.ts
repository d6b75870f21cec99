/**
 * Everything that answers on the port: model traffic on node:http, as an empty Express handler already halves the throughput; pages
 * for people, health and metrics on Express, which is loaded when somebody asks for them. One line in the log for each request.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Log } from '@rackless/daemon/log.js';
import { openToAll } from './auth/authenticate.js';
import { requireKeys, subprotocols } from './auth/client-keys.js';
import { createGate } from './auth/gate.js';
import { answerJson } from './endpoints/answer-json.js';
import { answerOptions } from './endpoints/cors.js';
import { Exchange, type Serving } from './endpoints/exchange.js';
import { forward } from './endpoints/forward.js';
import { endpoints } from './endpoints/index.js';
import { litellmRoutePage } from './endpoints/litellm-routes.js';
import { createPaths, openedTarget, plainPath } from './endpoints/paths.js';
import { answerClientError } from './endpoints/raw-errors.js';
import { countHosts } from './endpoints/raw-heads.js';
import { breakOff, refuse } from './endpoints/refusal.js';
import {
  methodNotAllowed,
  noSuchPath,
  notImplemented,
  ProxyError,
  toProxyError,
  uncheckedUser,
  wrongHost,
} from './errors.js';
import { createMetrics } from './metrics.js';
import type { Pages } from './pages/routes.js';
import { pagePaths } from './pages/paths.js';
import { polledPage } from './pages/polled.js';
import { handshakeFault } from './pass-through/handshake.js';
import { rawMethods } from './pass-through/paths.js';
import { recordRequest } from './request-record.js';
import { createRouter } from './routing/create-router.js';
import { createLimits } from './routing/limits.js';
import type { ProxySettings } from './settings.js';
import { createTrace } from './trace.js';
import type { Upstream } from './upstream/upstream.js';

export interface AppOptions {
  readonly settings: ProxySettings;
  /** The caller's to reload and to close. */
  readonly upstream: Upstream;
  readonly log: Log;
  /** Of the proxy, `0.1.0`. */
  readonly version: string;
  /** `--detailed_debug`. */
  readonly detailedDebug: boolean;
  /** What is forwarded raw (`/openai/…`, WebSocket); absent: nothing is. */
  readonly passThrough?: PassThrough;
}

/** Paths that are passed on as they are; asked before a path counts as unknown. */
export interface PassThrough {
  /** @param path without query, slashes collapsed. */
  accepts(path: string): boolean;
  /** Answers; the client may ask already. Faults go through {@link refuse}. */
  handle(exchange: Exchange): void;
  /**
   * Takes over the connection of a client that may ask for a WebSocket at a path that it accepts. Until that is answered with 101
   * (then `exchange.upgraded` is set), the exchange's response is on the socket, and ends the connection with itself.
   */
  upgrade(exchange: Exchange, socket: Socket, head: Buffer): void;
  /** Tells both sides of every WebSocket that this proxy goes away (close code 1001); each ends as soon as a frame of it is whole. */
  sayGoodbye(): void;
}

export interface App {
  /** For `http.createServer(app.handler)` or https. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** For the server's `checkContinue`: a body that would be refused is not even sent. */
  readonly expectContinue: (request: IncomingMessage, response: ServerResponse) => void;
  /** For the listener's requests for a WebSocket. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** For the server's `clientError`: an error in OpenAI's shape to what the parser gives up on. */
  readonly clientError: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /** New requests are served with these; those under way end with what they began with. */
  replaceSettings(settings: ProxySettings): void;
  /** The process is about to end: readiness says so, and clients are told to look for another connection. */
  drain(): void;
  /** The connections are about to be cut: WebSockets are told. */
  sayGoodbye(): void;
  /** Gives back what the app holds; the server, the upstream and the log are their owners' to close. */
  close(): void;
}

export function createApp(options: AppOptions): App {
  const { upstream, log, version, passThrough } = options;
  const paths = createPaths(endpoints);
  const metrics = createMetrics();
  const trace = options.detailedDebug ? createTrace(log) : null;
  const limits = createLimits();
  let draining = false;
  const serve = (settings: ProxySettings): Serving => ({
    settings,
    router: createRouter(settings, Math.random, limits),
    limits,
    gate: createGate(settings),
    authenticate: settings.clientKeys === null ? openToAll : requireKeys(settings.clientKeys),
    upstream,
    trace,
    version,
    isDraining: () => draining,
  });
  let serving = serve(options.settings);
  let pages: Promise<Pages> | undefined;

  const answer = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void => {
    const exchange = begin(request, response, expectsContinue);
    try {
      const url = request.url ?? '/';
      if (!hasOneHost(request)) {
        refuse(exchange, wrongHost());
        return;
      }
      const closed = exchange.serving.gate?.(request, plainPath(url));
      if (closed !== undefined) {
        refuse(exchange, closed);
        return;
      }
      const target = request.method === 'POST' ? paths.exact(url) : undefined;
      if (target !== undefined) forward(exchange, target);
      else dispatch(exchange, plainPath(url));
    } catch (error) {
      breakOff(exchange, toProxyError(error));
    }
  };

  const begin = (request: IncomingMessage, response: ServerResponse, holdsBodyBack: boolean): Exchange => {
    const exchange = new Exchange(request, response, serving, holdsBodyBack);
    metrics.requestStarted();
    response.on('close', () => recordRequest(exchange, metrics, log));
    // Without a listener, an error of one response would end the process. It is followed by `close`.
    response.on('error', destroyed);
    return exchange;
  };

  /** A client that asks for a WebSocket: it sends nothing before it is answered, and nothing but that answer is HTTP. */
  const answerUpgrade = (request: IncomingMessage, socket: Socket, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    try {
      response.assignSocket(socket);
    } catch {
      // The answer to an earlier request of this connection is still on its way: browsers and SDKs do not do that.
      socket.destroy();
      return;
    }
    response.on('finish', () => socket.destroySoon());
    // Node's server does this for its own responses; without it, an answer above 64 KB would wait forever.
    socket.on('drain', () => response.emit('drain'));
    const exchange = begin(request, response, true);
    const path = plainPath(request.url ?? '/');
    try {
      const closed = exchange.serving.gate?.(request, path);
      if (!hasOneHost(request)) refuse(exchange, wrongHost());
      else if (closed !== undefined) refuse(exchange, closed);
      else if (passThrough?.accepts(path) !== true) refuse(exchange, noSuchPath('WebSocket', path));
      else {
        exchange.routeLabel = 'pass-through';
        const fault = handshakeFault(request);
        if (fault !== undefined) refuse(exchange, fault);
        // The events of a session name no user before it is open.
        else if (exchange.serving.settings.enforceUserParam) refuse(exchange, uncheckedUser(path));
        else if (mayAsk(exchange, false, subprotocols(request.headers))) passThrough.upgrade(exchange, socket, head);
      }
    } catch (error) {
      breakOff(exchange, toProxyError(error));
    }
  };

  /** What is not the hot path. */
  const dispatch = (exchange: Exchange, path: string): void => {
    const method = exchange.request.method ?? '';
    const target = paths.match(path) ?? openedTarget(path, exchange.serving.settings.forwardedPaths);
    if (target !== undefined) {
      if (method === 'POST') forward(exchange, target);
      else otherMethod(exchange, path, 'POST');
      return;
    }
    const polled = polledPage(path);
    const page = polled ?? pagePaths.get(path);
    if (page !== undefined) {
      exchange.routeLabel = polled?.label ?? path;
      if (method !== 'GET' && method !== 'HEAD') otherMethod(exchange, path, 'GET, HEAD');
      else if (!mayAsk(exchange, page.open && !exchange.serving.settings.closedPages.has(path))) return;
      else if (polled === undefined) showPage(exchange);
      else {
        const told = polled.answer(exchange.serving);
        if (told instanceof ProxyError) refuse(exchange, told);
        else answerJson(exchange, told.status, told.value);
      }
      return;
    }
    if (passThrough?.accepts(path) === true) {
      exchange.routeLabel = 'pass-through';
      if (method === 'OPTIONS') answerOptions(exchange, rawMethods.join(', '));
      else if (exchange.serving.settings.enforceUserParam && !modelFree.has(method))
        refuse(exchange, uncheckedUser(path));
      else if (mayAsk(exchange, false)) passThrough.handle(exchange);
      return;
    }
    const documentation = litellmRoutePage(path);
    refuse(
      exchange,
      documentation === undefined ? noSuchPath(method, path) : notImplemented(method, path, documentation),
    );
  };

  const showPage = (exchange: Exchange): void => {
    pages ??= import('./pages/routes.js').then(({ createPages }) => createPages(metrics));
    pages.then(
      (show) => show(exchange),
      (error: unknown) => refuse(exchange, toProxyError(error)),
    );
  };

  const clientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    const status = answerClientError(error, socket);
    if (status === undefined) return;
    // Nothing of such a request is known but that it came.
    const refused = error.code ?? 'unreadable';
    log.request({ id: '-', user: null, method: '-', path: '-', status, ms: 0, refused });
  };
  return {
    handler: (request, response) => answer(request, response, false),
    expectContinue: (request, response) => answer(request, response, true),
    upgrade: (request, socket, head) => {
      // Declared wider than it is: both of Node's servers give the socket itself.
      if (socket instanceof Socket) answerUpgrade(request, socket, head);
      else socket.destroy();
    },
    clientError,
    replaceSettings: (settings) => {
      serving = serve(settings);
    },
    drain: () => {
      draining = true;
    },
    sayGoodbye: () => passThrough?.sayGoodbye(),
    close: () => metrics.close(),
  };
}

/** Raw requests by these methods run no model. LiteLLM asks POST alone for `user`. */
const modelFree: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);

function destroyed(this: ServerResponse): void {
  this.destroy();
}

/** RFC 9112 §3.2. The listener leaves the answer to us. */
function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  const hosts = countHosts(rawHeaders);
  return hosts === 1 || (hosts === 0 && httpVersion !== '1.1');
}

/**
 * Whether the client may ask; refused already if not.
 * @param offered the subprotocols of a WebSocket handshake, one of which may be the key.
 */
function mayAsk(exchange: Exchange, open: boolean, offered?: readonly string[]): boolean {
  if (open) return true;
  const client = exchange.serving.authenticate(exchange.request, offered);
  if (client instanceof ProxyError) {
    refuse(exchange, client);
    return false;
  }
  exchange.client = client;
  return true;
}

function otherMethod(exchange: Exchange, path: string, allow: string): void {
  const method = exchange.request.method ?? '';
  if (method === 'OPTIONS') answerOptions(exchange, allow);
  else refuse(exchange, methodNotAllowed(method, path, allow));
}
