/**
 * Everything that answers on the port: model traffic on node:http, as an empty Express handler already halves the throughput; pages
 * for people, health and metrics on Express, which is loaded when somebody asks for them. One line in the log for each request.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import type { Log } from '@rackless/daemon/log.js';
import { openToAll } from './auth/authenticate.js';
import { requireKeys } from './auth/client-keys.js';
import { overheadOf } from './endpoints/answer-headers.js';
import { answerJson } from './endpoints/answer-json.js';
import { answerOptions } from './endpoints/cors.js';
import { Exchange, type Serving } from './endpoints/exchange.js';
import { forward } from './endpoints/forward.js';
import { endpoints } from './endpoints/index.js';
import { createPaths, otherTarget, plainPath } from './endpoints/paths.js';
import { answerClientError, rawAnswer } from './endpoints/raw-errors.js';
import { refuse } from './endpoints/refusal.js';
import { methodNotAllowed, wrongHost, noSuchPath, ProxyError, toProxyError } from './errors.js';
import { createMetrics } from './metrics.js';
import type { Pages } from './pages/routes.js';
import { pagePaths } from './pages/paths.js';
import { polledPage } from './pages/polled.js';
import { createRouter } from './routing/create-router.js';
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
  /** Takes over the socket of a request for a WebSocket at a path that it accepts. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, serving: Serving): void;
}

export interface App {
  /** For `http.createServer(app.handler)` or https. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** For the server's `checkContinue`: a body that would be refused is not even sent. */
  readonly expectContinue: (request: IncomingMessage, response: ServerResponse) => void;
  /** For the server's `upgrade`. */
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
  /** For the server's `clientError`: an error in OpenAI's shape to what the parser gives up on. */
  readonly clientError: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /** New requests are served with these; those under way end with what they began with. */
  replaceSettings(settings: ProxySettings): void;
  /** The process is about to end: readiness says so, and clients are told to look for another connection. */
  drain(): void;
  /** Gives back what the app holds; the server, the upstream and the log are their owners' to close. */
  close(): void;
}

export function createApp(options: AppOptions): App {
  const { upstream, log, version, passThrough } = options;
  const paths = createPaths(endpoints);
  const metrics = createMetrics();
  const trace = options.detailedDebug ? createTrace(log) : null;
  let draining = false;
  const serve = (settings: ProxySettings): Serving => ({
    settings,
    router: createRouter(settings),
    authenticate: settings.clientKeys === null ? openToAll : requireKeys(settings.clientKeys),
    upstream,
    trace,
    version,
    isDraining: () => draining,
  });
  let serving = serve(options.settings);
  let pages: Promise<Pages> | undefined;

  const answer = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean): void => {
    const exchange = new Exchange(request, response, serving, expectsContinue);
    metrics.requestStarted();
    response.on('close', () => finish(exchange));
    const url = request.url ?? '/';
    // RFC 9112 §3.2. The listener leaves the answer to us.
    const hosts = countHosts(request.rawHeaders);
    if (hosts > 1 || (hosts === 0 && request.httpVersion === '1.1')) {
      refuse(exchange, wrongHost());
      return;
    }
    const target = request.method === 'POST' ? paths.exact(url) : undefined;
    if (target !== undefined) forward(exchange, target);
    else dispatch(exchange, plainPath(url));
  };

  /** What is not the hot path. */
  const dispatch = (exchange: Exchange, path: string): void => {
    const method = exchange.request.method ?? '';
    const target = paths.match(path);
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
      else if (!mayAsk(exchange, page.open)) return;
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
      if (method === 'OPTIONS') answerOptions(exchange, 'GET, HEAD, POST, PUT, PATCH, DELETE');
      else if (mayAsk(exchange, false)) passThrough.handle(exchange);
      return;
    }
    const other = otherTarget(path);
    if (other === undefined || (method !== 'POST' && method !== 'OPTIONS')) refuse(exchange, noSuchPath(method, path));
    else if (method === 'OPTIONS') answerOptions(exchange, 'POST');
    else forward(exchange, other);
  };

  const showPage = (exchange: Exchange): void => {
    pages ??= import('./pages/routes.js').then(({ createPages }) => createPages(metrics));
    pages.then(
      (show) => show(exchange),
      (error: unknown) => refuse(exchange, toProxyError(error)),
    );
  };

  /** Runs when the response is over, whoever ended it. */
  const finish = (exchange: Exchange): void => {
    const { request, response, call, route, error, usage, sentAt, firstByteAt } = exchange;
    const now = performance.now();
    const gone = !response.writableFinished;
    // The upstream must not go on for nobody.
    if (gone && exchange.answeredAt === 0) call?.abort();
    // nginx's word for a client that did not wait.
    const status = gone && !response.headersSent ? 499 : response.statusCode;
    const total = now - exchange.startedAt;
    const firstTokenMs = exchange.streamed && firstByteAt !== 0 ? firstByteAt - exchange.startedAt : null;
    const upstreamMs = sentAt === 0 ? null : (exchange.answeredAt || now) - sentAt;
    metrics.requestFinished({
      route: exchange.routeLabel,
      modelGroup: route?.deployment.modelName ?? '',
      modelId: route?.deployment.id ?? '',
      status,
      errorKind: error?.kind ?? null,
      totalMs: total,
      upstreamMs,
      firstTokenMs,
      overheadMs: sentAt === 0 ? null : overheadOf(exchange, now),
      inputTokens: usage?.inputTokens ?? 0,
      outputTokens: usage?.outputTokens ?? 0,
      totalTokens: usage?.totalTokens ?? 0,
    });
    log.request({
      id: exchange.id,
      user: exchange.client?.alias ?? null,
      method: request.method ?? '',
      path: plainPath(request.url ?? '/'),
      status,
      ms: rounded(total),
      ...(error?.kind === 'authentication' ? { refused: error.message } : {}),
      more: {
        ...(route === null ? {} : { model: route.modelGroup, deployment: route.deployment.id }),
        ...(upstreamMs === null ? {} : { upstreamMs: rounded(upstreamMs) }),
        ...(firstTokenMs === null ? {} : { firstTokenMs: rounded(firstTokenMs) }),
        ...(gone ? { gone: true } : {}),
      },
    });
    if (error !== null) tellError(log, exchange.id, error);
  };

  /** Speaks HTTP on sockets that wanted something else, which is their right to be denied (RFC 9110 §7.8). */
  const plain = createServer({ requireHostHeader: false }, (request, response) => answer(request, response, false));
  const clientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    const status = answerClientError(error, socket);
    if (status === undefined) return;
    // Nothing of such a request is known but that it came.
    const refused = error.code ?? 'unreadable';
    log.request({ id: '-', user: null, method: '-', path: '-', status, ms: 0, refused });
  };
  plain.on('clientError', clientError);

  return {
    handler: (request, response) => answer(request, response, false),
    expectContinue: (request, response) => answer(request, response, true),
    upgrade: (request, socket, head) => {
      const path = plainPath(request.url ?? '/');
      if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
        // Java's client offers HTTP/2 with its first request; it takes HTTP/1.1 as well.
        socket.unshift(Buffer.concat([headWithoutUpgrade(request), head]));
        plain.emit('connection', socket);
        return;
      }
      if (passThrough?.accepts(path) === true) passThrough.upgrade(request, socket, head, serving);
      else socket.end(rawAnswer(404, 'Not Found', JSON.stringify(noSuchPath('WebSocket', path).body)));
    },
    clientError,
    replaceSettings: (settings) => {
      serving = serve(settings);
    },
    drain: () => {
      draining = true;
    },
    close: () => metrics.close(),
  };
}

/** Node keeps the first of two; who else reads the request may keep the other. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1;
  }
  return count;
}

/** Whether the client may ask; refused already if not. */
function mayAsk(exchange: Exchange, open: boolean): boolean {
  if (open) return true;
  const client = exchange.serving.authenticate(exchange.request);
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

/** What a client did wrong is in the request's line; an upstream's trouble is told with its reason, ours with its place. */
function tellError(log: Log, id: string, error: ProxyError): void {
  if (error.kind === 'internal') log.error('answering a request failed', { id, error });
  else if (error.kind !== 'request' && error.kind !== 'authentication' && error.status !== 429)
    log.warn('a request could not be served', { id, error });
}

const rounded = (milliseconds: number) => Math.round(milliseconds * 1000) / 1000;

/** The head of a request as it came, but for what asks for another protocol. */
function headWithoutUpgrade({ method = '', url = '', rawHeaders }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/1.1`];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!/^(?:upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${rawHeaders[index + 1] ?? ''}`);
  }
  return Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
}
