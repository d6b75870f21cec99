/**
 * All HTTP handlers of the daemon's port. Pages and probes use Express. Redfish uses node:http, because even an
 * empty Express handler costs more than half of the throughput (docs/decisions/003). Logs one line for each request.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import { acceptableId, hasOneHost } from '@rackless/daemon/http/request-head.js';
import { upgradeResponse } from '@rackless/daemon/http/upgrade-response.js';
import type { Log } from '@rackless/daemon/log/log.js';
import { maskUrl } from '@rackless/daemon/text/mask-url.js';
import { createMetrics, type Metrics } from './metrics.js';
import { pagesOnDemand } from './pages/on-demand.js';
import type { PagesDriver } from './pages/routes.js';
import type { AnnotateOptions } from './redfish/annotate.js';
import { emptyAnswer, errorAnswer, send, type Answer } from './redfish/answer.js';
import type { Authenticate, WatchIdentity } from './redfish/authenticate.js';
import { redfishError } from './redfish/messages/errors.js';
import { createPipeline, type RequestOutcome, type Pipeline, type Scoping } from './redfish/pipeline.js';
import { answerClientError } from './redfish/messages/raw-errors.js';
import type { Resource } from './redfish/resource.js';
import type { ChangeListener } from './redfish/exchange.js';
import { createRouter } from './redfish/router.js';
import type { StreamDefinition } from './redfish/stream.js';
import type { WebSocketDefinition } from './redfish/web-socket.js';
import { readSubprotocolToken } from './redfish/web-sockets/handshake.js';
import type { WebSocketLimits } from './redfish/web-sockets/limits.js';
import { WebSockets } from './redfish/web-sockets/web-sockets.js';

/** The parts of an app. */
export interface AppOptions<Services> extends AnnotateOptions {
  readonly resources: readonly Resource<Services>[];
  /** Default: none. */
  readonly streams?: readonly StreamDefinition<Services>[];
  /** Default: none. */
  readonly webSockets?: readonly WebSocketDefinition<Services>[];
  /** Limits that replace the defaults. */
  readonly webSocketLimits?: Partial<WebSocketLimits>;
  /** Checks the clients of open WebSockets again and again. Default: only the handshake is checked. */
  readonly watchIdentity?: WatchIdentity;
  /** Called after each successful write. */
  readonly onChange?: ChangeListener;
  readonly services: Services;
  readonly authenticate: Authenticate;
  readonly log: Log;
  /** The driver for the pages, health and metrics. Redfish uses the driver in `services`. */
  readonly driver: PagesDriver;
  /** Restricts the machines that a request sees, in Redfish and on the pages. Default: no restriction. */
  readonly scoping?: Scoping<Services & { readonly driver: PagesDriver }>;
  /** The daemon's version. */
  readonly version: string;
}

/** The HTTP handlers of the service. */
export interface App {
  /** The handler for `http.createServer` or https. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** The handler for `server.on('clientError')`: sends a Redfish error for malformed requests. */
  readonly clientError: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /** The handler for plain HTTP at the HTTPS port: redirects to HTTPS. */
  readonly redirect: (request: IncomingMessage, response: ServerResponse) => void;
  /** The handler for `server.on('upgrade')`: answers the handshakes of WebSockets. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** Returns whether the app has a WebSocket at the path of a request. */
  readonly isWebSocket: (request: IncomingMessage) => boolean;
  /** Ends all WebSockets. */
  endWebSockets(): void;
  /** Releases the app's resources. Does not close the server, the driver or the log. */
  close(): void;
}

/**
 * Creates the app.
 * @throws {Error} if two resources have the same path.
 */
export function createApp<Services>(options: AppOptions<Services>): App {
  const { driver, log, scoping, webSockets = [] } = options;
  const metrics = createMetrics(driver);
  const sockets = createSockets(options, metrics);
  const redfish = createPipeline({ ...options, webSockets: { definitions: webSockets, sockets } });
  const driverFor = (request: IncomingMessage): PagesDriver => {
    const scope = scoping?.scopeOf(request) ?? null;
    return scope === null || scoping === undefined ? driver : scoping.servicesOf(scope).driver;
  };
  const pages = pagesOnDemand({ ...options, driverFor, metrics });
  const nextId = createRequestIds();

  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    const started = performance.now();
    const method = request.method ?? '';
    const id = acceptableId(request.headers['x-request-id'], MAX_ID_LENGTH) ?? nextId();
    const url = originForm(request);
    metrics.requestStarted();

    const finish = ({ route, status, user, refused, error, partStatus }: RequestOutcome): void => {
      const ms = performance.now() - started;
      metrics.requestAnswered({ method, route, status, seconds: ms / 1000 });
      const rounded = Math.round(ms * 1000) / 1000;
      log.request({
        id,
        user,
        method,
        path: pathOf(url.startsWith('/') ? url : maskUrl(url)),
        status,
        ms: rounded,
        ...(refused === undefined ? {} : { refused }),
      });
      if (error === undefined) return;
      // Part of the answer is missing. This is an error of the daemon only with status 500, not if a host has failed.
      if (partStatus !== undefined)
        log[partStatus === 500 ? 'error' : 'warn']('a part of an answer could not be read', { id, error });
      else if (status === 500) log.error('answering a request failed with an internal error', { id, error });
      else log.warn('a request could not be served', { id, error });
    };
    const pipeline = hasOneHost(request) ? (isRedfish(url) ? redfish : pages) : rejectHost;
    pipeline(request, response, id).then(finish, (error: unknown) => {
      // The pipeline answers all errors of requests. So it rejects only after a bug in the code that sends the answer.
      response.destroy();
      finish({ route: 'unmatched', status: 500, user: null, error });
    });
  };
  return {
    handler,
    ...createRejections(log, nextId),
    ...createUpgrade(webSockets, handler),
    endWebSockets: () => sockets.close(),
    close: () => metrics.clear(),
  };
}

/** Creates the handlers of requests that cannot be parsed, and of plain HTTP at the HTTPS port. */
function createRejections(log: Log, nextId: () => string): Pick<App, 'clientError' | 'redirect'> {
  const clientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    const status = answerClientError(error, socket);
    if (status === undefined) return;
    // The request could not be parsed, so the log has neither its method nor its path.
    log.request({
      id: nextId(),
      user: null,
      method: '-',
      path: '-',
      status,
      ms: 0,
      refused: error.code ?? 'unreadable',
    });
  };
  const redirect = (request: IncomingMessage, response: ServerResponse): void => {
    const id = nextId();
    const answer = redirection(request);
    send(response, answer, id);
    const { method = '', url = '/' } = request;
    // Does not authenticate, because others on the network may have read the password.
    log.request({
      id,
      user: null,
      method,
      path: pathOf(maskUrl(url)),
      status: answer.status,
      ms: 0,
      refused: 'no TLS',
    });
  };
  return { clientError, redirect };
}

/** Creates the set of open WebSockets. The metrics count them, and the log records the end of each. */
function createSockets<Services>(
  { watchIdentity, log, webSocketLimits: limits = {} }: AppOptions<Services>,
  { webSockets }: Metrics,
): WebSockets {
  return new WebSockets({
    limits,
    ...(watchIdentity === undefined ? {} : { watchIdentity }),
    onOpen: (route) => webSockets.opened(route),
    onEnd: (end) => {
      webSockets.ended(end);
      const { route: _route, ...fields } = end;
      log.info('a WebSocket ended', fields);
    },
  });
}

/** Creates the handlers of WebSocket handshakes, which go through the same pipeline as all other requests. */
function createUpgrade<Services>(
  webSockets: readonly WebSocketDefinition<Services>[],
  handler: App['handler'],
): Pick<App, 'upgrade' | 'isWebSocket'> {
  const router = createRouter(webSockets.map(({ uri }) => ({ template: uri, target: uri })));
  return {
    upgrade: (request, socket, head) => {
      const response = upgradeResponse(request, socket);
      if (response === undefined) return;
      if (head.length > 0) socket.unshift(head);
      readSubprotocolToken(request);
      handler(request, response);
    },
    isWebSocket: (request) => router.match(pathOf(originForm(request))) !== undefined,
  };
}

/**
 * Returns the redirect; an error if the Host or the path is not valid. A 308 keeps the method and the body
 * (RFC 9110 §15.4.9).
 */
function redirection(request: IncomingMessage): Answer {
  const path = originForm(request);
  const { host } = request.headers;
  if (host === undefined) return errorAnswer(redfishError('HeaderMissing', 'Host'));
  const target = `https://${host}${path}`;
  // With an invalid host, or a path such as `*`, the target would be another address than the client requested.
  if (!/^[\w.:[\]-]+$/.test(host) || !path.startsWith('/') || !URL.canParse(target)) {
    return errorAnswer(redfishError('HeaderInvalid', 'Host'));
  }
  return emptyAnswer(308, { Location: target, 'Content-Length': '0' });
}

/** Returns a function that creates request ids, which are unique across processes. */
function createRequestIds(): () => string {
  const process = randomBytes(4).toString('hex');
  let count = 0;
  return () => `${process}-${(count += 1).toString(36)}`;
}

/** Maximum length of a client's request id, in characters. */
const MAX_ID_LENGTH = 64;

const rejectHost: Pipeline = ({ headers }, response, requestId) => {
  const answer = errorAnswer(redfishError(headers.host === undefined ? 'HeaderMissing' : 'HeaderInvalid', 'Host'));
  send(response, answer, requestId);
  return Promise.resolve({ route: 'unmatched', status: answer.status, user: null });
};

/**
 * Returns the path and query. A proxy may send an absolute URL (RFC 9112 §3.2.2): its path and
 * query replace the URL of the request, and its host replaces the Host header. Returns any other URL, such as
 * `*`, unchanged.
 */
function originForm(request: IncomingMessage): string {
  const url = request.url ?? '/';
  if (url.startsWith('/') || !URL.canParse(url)) return url;
  const { host, pathname, search } = new URL(url);
  if (host !== '') request.headers.host = host;
  request.url = `${pathname}${search}`;
  return request.url;
}

function isRedfish(url: string): boolean {
  if (!url.startsWith('/redfish')) return false;
  const next = url[8];
  return next === undefined || next === '/' || next === '?';
}

function pathOf(url: string): string {
  const mark = url.indexOf('?');
  return mark === -1 ? url : url.slice(0, mark);
}
