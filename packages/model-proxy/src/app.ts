/**
 * The HTTP application: answers everything on the port, and logs one line per request. Model
 * requests run on node:http alone, because even an empty Express handler halves the throughput.
 * Express serves the home page, health and metrics, and is loaded after the start.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { hasOneHost } from '@rackless/daemon/http/request-head.js';
import type { Log } from '@rackless/daemon/log.js';
import { openToAll } from './auth/authenticate.js';
import { requireKeys, subprotocols } from './auth/client-keys.js';
import { createGate } from './auth/gate.js';
import { answerJson } from './exchange/answer/answer-json.js';
import { answerOptions } from './exchange/cors.js';
import { Exchange, type Serving } from './exchange/exchange.js';
import { forward } from './exchange/forward.js';
import { endpoints } from './endpoints/index.js';
import { litellmRoutePage } from './endpoints/litellm-routes.js';
import { createPaths, forwardedTarget, plainPath } from './endpoints/paths.js';
import { answerClientError } from './exchange/raw-errors.js';
import { breakOff, refuse } from './exchange/answer/refusal.js';
import { methodNotAllowed, noSuchPath, notImplemented, unreadableRequest, wrongHost } from './errors/path.js';
import { uncheckedUser } from './errors/access.js';
import { ProxyError, toProxyError } from './errors/proxy-error.js';
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

/** Options of {@link createApp}. */
export interface AppOptions {
  readonly settings: ProxySettings;
  /** The caller reloads and closes it. */
  readonly upstream: Upstream;
  readonly log: Log;
  /** Version of the proxy: `0.1.0`. */
  readonly version: string;
  /** Whether to trace upstream calls (`--detailed_debug`). */
  readonly detailedDebug: boolean;
  /** Raw pass-through (`/openai/…`, WebSockets); absent in tests without it. */
  readonly passThrough?: PassThrough;
}

/**
 * Raw pass-through: forwards requests without reading the model. The app asks it before it answers
 * 404.
 */
export interface PassThrough {
  /**
   * Returns whether a path is passed through.
   * @param path without query, with repeated slashes collapsed.
   */
  accepts(path: string): boolean;
  /** Forwards a request of an authenticated client. Reports errors with {@link refuse}. */
  handle(exchange: Exchange): void;
  /** Loads the modules for this, as {@link App.loadModules}. */
  loadModules(): Promise<void>;
  /**
   * Forwards the WebSocket handshake of an authenticated client, for a path that {@link accepts}
   * matches, and takes over the connection. Until it answers 101 and sets `exchange.upgraded`, the
   * response of the exchange is attached to the socket: ending the response closes the connection.
   */
  upgrade(exchange: Exchange, socket: Socket, head: Buffer): void;
  /**
   * Sends close code 1001 on every WebSocket, in both directions, as soon as the current frame is
   * complete.
   */
  closeWebSockets(): void;
}

/** A running application. */
export interface App {
  /** Handles requests: `http.createServer(app.handler)`. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /**
   * Handles the server's `checkContinue`, so that clients do not send bodies which would be
   * rejected.
   */
  readonly expectContinue: (request: IncomingMessage, response: ServerResponse) => void;
  /** Handles the listener's WebSocket requests. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /**
   * Handles the server's `clientError`: answers what the parser rejects with an error in OpenAI's
   * format.
   */
  readonly clientError: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /**
   * Loads the modules that only some requests need. Call it after the start: if the first such
   * request found no free file descriptor, the import would fail, and Node fails every later import
   * of the same module.
   */
  loadModules(): Promise<void>;
  /** Uses new settings for new requests. Requests in progress keep their settings. */
  replaceSettings(settings: ProxySettings): void;
  /**
   * Starts the shutdown: readiness answers 503, and answers ask clients to close their connection.
   */
  drain(): void;
  /** Announces to WebSockets that their connections will be closed. */
  closeWebSockets(): void;
  /** Releases the app's own resources. The owners close the server, the upstream and the log. */
  close(): void;
}

/** Creates the application. */
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
      const rejection = headFault(request) ?? exchange.serving.gate?.(request, plainPath(url));
      if (rejection !== undefined) {
        refuse(exchange, rejection);
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
    // Without a listener, an error of the response would end the process. The event `close` follows
    // it.
    response.on('error', destroyed);
    return exchange;
  };

  /**
   * Answers a WebSocket handshake. Until the answer, the client sends nothing, and only the answer
   * itself is HTTP.
   */
  const answerUpgrade = (request: IncomingMessage, socket: Socket, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    try {
      response.assignSocket(socket);
    } catch {
      // An earlier request of this connection is not answered yet. Browsers and SDKs never do this.
      socket.destroy();
      return;
    }
    response.on('finish', () => socket.destroySoon());
    // Node's server does this for its own responses. Without it, an answer above 64 KB would wait
    // forever.
    socket.on('drain', () => response.emit('drain'));
    const exchange = begin(request, response, true);
    const path = plainPath(request.url ?? '/');
    try {
      const rejection = headFault(request) ?? exchange.serving.gate?.(request, path);
      if (rejection !== undefined) refuse(exchange, rejection);
      else if (passThrough?.accepts(path) !== true) refuse(exchange, noSuchPath('WebSocket', path));
      else {
        exchange.routeLabel = 'pass-through';
        const fault = handshakeFault(request);
        if (fault !== undefined) refuse(exchange, fault);
        // A session's events may name users, but only after it has opened.
        else if (exchange.serving.settings.enforceUserParam) refuse(exchange, uncheckedUser(path));
        else if (authorize(exchange, false, subprotocols(request.headers))) passThrough.upgrade(exchange, socket, head);
      }
    } catch (error) {
      breakOff(exchange, toProxyError(error));
    }
  };

  /** Routes everything except model requests by their exact path. */
  const dispatch = (exchange: Exchange, path: string): void => {
    const method = exchange.request.method ?? '';
    const target = paths.match(path) ?? forwardedTarget(path, exchange.serving.settings.forwardedPaths);
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
      else if (!authorize(exchange, page.open && !exchange.serving.settings.closedPages.has(path))) return;
      else if (polled === undefined) showPage(exchange);
      else {
        const result = polled.answer(exchange.serving);
        if (result instanceof ProxyError) refuse(exchange, result);
        else answerJson(exchange, result.status, result.value);
      }
      return;
    }
    if (passThrough?.accepts(path) === true) {
      exchange.routeLabel = 'pass-through';
      if (method === 'OPTIONS') answerOptions(exchange, rawMethods.join(', '));
      else if (exchange.serving.settings.enforceUserParam && !modelFree.has(method))
        refuse(exchange, uncheckedUser(path));
      else if (authorize(exchange, false)) passThrough.handle(exchange);
      return;
    }
    const documentation = litellmRoutePage(path);
    refuse(
      exchange,
      documentation === undefined ? noSuchPath(method, path) : notImplemented(method, path, documentation),
    );
  };

  const loadPages = (): Promise<Pages> => {
    pages ??= import('./pages/routes.js').then(({ createPages }) => createPages(metrics));
    return pages;
  };

  const showPage = (exchange: Exchange): void => {
    loadPages().then(
      (show) => show(exchange),
      (error: unknown) => refuse(exchange, toProxyError(error)),
    );
  };

  const clientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    const status = answerClientError(error, socket);
    if (status === undefined) return;
    // The request was not readable, so only its failure is known.
    const refused = error.code ?? 'unreadable';
    log.request({ id: '-', user: null, method: '-', path: '-', status, ms: 0, refused });
  };
  return {
    handler: (request, response) => answer(request, response, false),
    expectContinue: (request, response) => answer(request, response, true),
    upgrade: (request, socket, head) => {
      // The type is wider than the value: both of Node's servers pass the socket itself.
      if (socket instanceof Socket) answerUpgrade(request, socket, head);
      else socket.destroy();
    },
    clientError,
    loadModules: async () => {
      await Promise.all([loadPages(), metrics.loadModules(), passThrough?.loadModules()]);
    },
    replaceSettings: (settings) => {
      serving = serve(settings);
    },
    drain: () => {
      draining = true;
    },
    closeWebSockets: () => passThrough?.closeWebSockets(),
    close: () => metrics.close(),
  };
}

/** Methods of raw requests that do not run a model. LiteLLM checks `user` only for POST. */
const modelFree: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE']);

function destroyed(this: ServerResponse): void {
  this.destroy();
}

/**
 * Checks the version (RFC 9112 §2.3) and the Host header (§3.2), which the listener leaves to the
 * app. Node also accepts a request line without a version, as in HTTP/0.9, and HTTP/2.0.
 */
function headFault(request: IncomingMessage): ProxyError | undefined {
  if (request.httpVersionMajor !== 1)
    return unreadableRequest(400, 'The request line must end with HTTP/1.0 or HTTP/1.1.');
  return hasOneHost(request) ? undefined : wrongHost();
}

/**
 * Authenticates the client. If that fails, answers with the error.
 * @param offered the subprotocols of a WebSocket handshake; the key may be one of them.
 * @returns whether the request may proceed.
 */
function authorize(exchange: Exchange, open: boolean, offered?: readonly string[]): boolean {
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
