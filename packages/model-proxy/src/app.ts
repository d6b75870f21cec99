/**
 * The HTTP application: answers everything on the port, and logs one line per request. Model requests do not use
 * Express, because even an empty Express handler halves the throughput. Express serves pages such as `/health` and
 * `/metrics`, but not the probes and the lists of models (pages/polled.ts). It is loaded after the start.
 */
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Log } from '@rackless/daemon/log/log.js';
import { runAtOnce, type Steps } from '@rackless/daemon/process/slices.js';
import { openToAll } from './auth/authenticate.js';
import { requireKeys } from './auth/client-keys.js';
import { createGate } from './auth/gate.js';
import { createKeyLimits, type KeyLimits } from './auth/key-limits.js';
import { createSharedLimits, redisAuthority } from './auth/shared-limits.js';
import { virtualClients } from './auth/virtual-clients.js';
import { Exchange, type ProxyState } from './exchange/exchange.js';
import { forward } from './exchange/forward.js';
import { createOverload } from './exchange/overload.js';
import { endpoints } from './endpoints/index.js';
import { createPaths, plainPath } from './endpoints/paths.js';
import { answerClientError } from './exchange/raw-errors.js';
import { breakOff, refuse } from './exchange/answer/refusal.js';
import { toProxyError } from './errors/proxy-error.js';
import { createDispatch, headFault, type PassThrough } from './dispatch.js';
import { applyCheck, createBackgroundChecks } from './health-checks/background-checks.js';
import { createMetrics, type Metrics } from './metrics.js';
import { scrapedState } from './pages/deployment-states.js';
import type { Pages } from './pages/routes.js';
import { recordRequest } from './request-record.js';
import type { RequestReports } from './request-report.js';
import type { Telemetry } from './request-span.js';
import { createRouter } from './routing/create-router.js';
import { createRoutingState } from './routing/routing-state.js';
import type { Siblings } from './routing/siblings.js';
import { createUncountedResponses } from './routing/uncounted-responses.js';
import type { ProxySettings } from './settings.js';
import type { AnyStore } from './store/store.js';
import { createTrace } from './trace.js';
import type { Upstream } from './upstream/upstream.js';
import { createUpgrade } from './upgrade.js';

/** Options of {@link createApp}. */
export interface AppOptions {
  readonly settings: ProxySettings;
  /** The caller reloads and closes the upstream. */
  readonly upstream: Upstream;
  readonly log: Log;
  /** Version of the proxy, such as `0.1.0`. */
  readonly version: string;
  /** Whether to trace upstream calls (`--detailed_debug`). */
  readonly detailedDebug: boolean;
  /** Raw pass-through (`/openai/…`, WebSockets). Absent: the proxy has none; only in tests. */
  readonly passThrough?: PassThrough;
  /** OpenTelemetry; the caller closes it. Absent: none. */
  readonly telemetry?: Telemetry | null;
  /** Receivers of reports about requests; the caller closes them. Absent: none. */
  readonly reports?: RequestReports | null;
  /** The store of virtual keys. The caller closes it. Absent: there are no virtual keys. */
  readonly store?: AnyStore | undefined;
  /** The other workers of the group. Absent: there are none. */
  readonly siblings?: Siblings | null;
}

/** A running application. */
export interface App {
  /** Answers requests: `http.createServer(app.handler)`. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** Returns whether a POST to a path is a model request in JSON, which the listener may serve by its shortcut. */
  readonly takesShortcut: (path: string) => boolean;
  /**
   * Answers the server's `checkContinue`, so that clients do not send bodies which would be
   * rejected.
   */
  readonly expectContinue: (request: IncomingMessage, response: ServerResponse) => void;
  /** Answers the server's `upgrade` event: WebSocket handshakes. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /**
   * Answers the server's `clientError`: if the parser rejects a request, answers with an error in
   * OpenAI's format.
   */
  readonly clientError: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /**
   * Loads the modules that only some requests need. Call it directly after the start. Without this,
   * the first such request would import them. If that import failed, for example without a free file
   * descriptor, Node would fail every later import of the same module.
   */
  loadModules(): Promise<void>;
  /** Starts the checks of deployments in the background, if the settings enable them. */
  startHealthChecks(): void;
  /**
   * Prepares other settings. Changes nothing.
   * @returns a function that uses them for new requests. Requests in progress keep their settings.
   */
  prepare(settings: ProxySettings): Steps<() => void>;
  /**
   * Starts the shutdown: readiness answers 503, answers ask clients to close their connection, and the health checks
   * stop.
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
  const siblings = options.siblings ?? null;
  const lasting = lastingState(log, siblings);
  const { keys, authenticationOf } = accessOf(options.store, log);
  const healthChecks = createBackgroundChecks(log, (event) => siblings?.publish(event));
  let draining = false;
  const stateOf = (settings: ProxySettings) =>
    prepareState(settings, options.detailedDebug ? log : null, authenticationOf(settings), {
      ...lasting,
      keys,
      upstream,
      telemetry: options.telemetry ?? null,
      reports: options.reports ?? null,
      version,
      isDraining: () => draining,
    });
  let proxy = runAtOnce(stateOf(options.settings))();
  const prepare = function* (settings: ProxySettings): Steps<() => void> {
    const apply = yield* stateOf(settings);
    return () => {
      proxy = apply();
      healthChecks.apply(proxy);
    };
  };
  const pages = pagesOnDemand(metrics);
  siblings?.setSnapshotSource(() => metrics.snapshot(scrapedState(proxy)));

  const answer = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): void => {
    const exchange = begin(request, response, awaitsContinue);
    try {
      const url = request.url ?? '/';
      const rejection = headFault(request) ?? exchange.proxy.gate?.(request, plainPath(url));
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

  const begin = (request: IncomingMessage, response: ServerResponse, awaitsContinue: boolean): Exchange => {
    const exchange = new Exchange(request, response, proxy, awaitsContinue);
    metrics.requestStarted();
    response.on('close', () => recordRequest(exchange, metrics, log));
    // Without a listener, an error of the response would end the process. The event `close` follows
    // the error, so the request is still recorded.
    response.on('error', destroyResponse);
    return exchange;
  };

  const dispatch = createDispatch({ paths, passThrough, showPage: pages.show });

  return {
    handler: (request, response) => answer(request, response, false),
    takesShortcut: (path) => paths.exact(path)?.endpoint.requestBody === 'json',
    expectContinue: (request, response) => answer(request, response, true),
    upgrade: createUpgrade({ begin, passThrough, current: () => proxy }),
    clientError: (error, socket) => answerUnreadable(error, socket, log),
    loadModules: async () =>
      void (await Promise.all([pages.load(), metrics.loadModules(), passThrough?.loadModules()])),
    startHealthChecks: () => healthChecks.start(proxy),
    prepare,
    drain: () => {
      draining = true;
      healthChecks.stop();
    },
    closeWebSockets: () => passThrough?.closeWebSockets(),
    close: () => metrics.close(),
  };
}

/** The members of the state that are the same with all settings. */
type LastingParts = Omit<ProxyState, 'settings' | 'router' | 'gate' | 'authenticate' | 'trace'>;

/**
 * Makes the state of new settings.
 * @param traceLog null: calls are not traced.
 * @returns a function that applies the settings to the lasting parts, and returns the state.
 */
function* prepareState(
  settings: ProxySettings,
  traceLog: Log | null,
  authenticate: ProxyState['authenticate'],
  lasting: LastingParts,
): Steps<() => ProxyState> {
  const ids = new Set(settings.deployments.map(({ id }) => id));
  const router = yield* createRouter(settings, lasting);
  const gate = createGate(settings);
  const trace = traceLog === null ? null : createTrace(traceLog, { hidesBodies: settings.hidesBodies === true });
  return () => {
    lasting.overload.setLimits(settings.overload);
    lasting.health.retain(ids);
    return { settings, router, ...lasting, gate, authenticate, trace };
  };
}

/** Creates the authentication and the limits of virtual keys. @param store undefined: there are no virtual keys. */
function accessOf(store: AnyStore | undefined, log: Log) {
  const findClient = store === undefined ? null : virtualClients(store);
  return {
    keys: store === undefined ? null : { store, limits: keyLimitsOf(store, log) },
    authenticationOf: ({ clientKeys }: ProxySettings) =>
      clientKeys === null ? openToAll : requireKeys(clientKeys, findClient),
  };
}

function keyLimitsOf(store: AnyStore, log: Log): KeyLimits {
  if ('shared' in store) return createSharedLimits(redisAuthority(store.shared), log);
  return 'limits' in store ? createSharedLimits(store.limits, log) : createKeyLimits();
}

/** Makes the state that survives reloads. It learns what other workers observe. */
function lastingState(log: Log, siblings: Siblings | null) {
  const routing = createRoutingState(log, siblings);
  siblings?.onEvent((event) => {
    if (event.kind === 'checked') applyCheck(routing, event);
    else if (event.kind !== 'uncounted' && event.kind !== 'counted') routing.health.applyEvent(event);
  });
  const uncountedResponses = createUncountedResponses(siblings);
  return { ...routing, overload: createOverload(siblings?.partOf), uncountedResponses, siblings };
}

/** Makes the loader of the pages with Express. Only its first call loads them. */
function pagesOnDemand(metrics: Metrics) {
  let pages: Promise<Pages> | undefined;
  const load = (): Promise<Pages> =>
    (pages ??= import('./pages/routes.js').then(({ createPages }) => createPages(metrics)));
  return {
    load,
    show: (exchange: Exchange): void => {
      load().then(
        (show) => show(exchange),
        (error: unknown) => refuse(exchange, toProxyError(error)),
      );
    },
  };
}

/** Answers and logs a request that Node's parser rejects. The log line has only the error and the status. */
function answerUnreadable(error: NodeJS.ErrnoException, socket: Duplex, log: Log): void {
  const status = answerClientError(error, socket);
  if (status === undefined) return;
  const refused = error.code ?? 'unreadable';
  log.request({ id: '-', user: null, method: '-', path: '-', status, ms: 0, refused });
}

function destroyResponse(this: ServerResponse): void {
  this.destroy();
}
