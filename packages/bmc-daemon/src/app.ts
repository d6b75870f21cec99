/**
 * Everything that answers on the port: Redfish on node:http, as an empty Express handler already halves the throughput; the
 * pages for people and probes on Express (docs/decisions/003). One line in the log for each request, whoever answers it.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { Duplex } from 'node:stream';
import { acceptableId, hasOneHost } from '@rackless/daemon/http/request-head.js';
import type { Log } from '@rackless/daemon/log.js';
import { maskUrl } from '@rackless/daemon/mask-url.js';
import { createMetrics } from './metrics.js';
import { createPages, type PagesDriver } from './pages/routes.js';
import type { AnnotateOptions } from './redfish/annotate.js';
import { emptyAnswer, errorAnswer, send, type Answer } from './redfish/answer.js';
import type { Authenticate } from './redfish/authenticate.js';
import { refuse } from './redfish/messages/errors.js';
import { createPipeline, type Outcome, type Pipeline, type Scoping } from './redfish/pipeline.js';
import { answerClientError } from './redfish/messages/raw-errors.js';
import type { Resource } from './redfish/resource.js';
import type { ChangeListener } from './redfish/exchange.js';
import type { StreamDefinition } from './redfish/stream.js';

interface AppOptions<Services> extends AnnotateOptions {
  readonly resources: readonly Resource<Services>[];
  /** Default: none. */
  readonly streams?: readonly StreamDefinition<Services>[];
  /** Told of every write that was carried out. */
  readonly onChange?: ChangeListener;
  readonly services: Services;
  readonly authenticate: Authenticate;
  readonly log: Log;
  /** For the page, health and metrics; Redfish gets it through the services. */
  readonly driver: PagesDriver;
  /** Default: every request sees every machine. The page shows what Redfish would. */
  readonly scoping?: Scoping<Services & { readonly driver: PagesDriver }>;
  /** Of the daemon. */
  readonly version: string;
}

/** The HTTP handlers of the service. */
export interface App {
  /** For `http.createServer(app.handler)` or https. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void;
  /** For `server.on('clientError', app.clientError)`: a Redfish error to what the parser gives up on. */
  readonly clientError: (error: NodeJS.ErrnoException, socket: Duplex) => void;
  /** For plain HTTP at the port of HTTPS: where it is to be said again. */
  readonly redirect: (request: IncomingMessage, response: ServerResponse) => void;
  /** Gives back what the app holds; the server, the driver and the log are their owners' to close. */
  close(): void;
}

/** @throws {Error} if two resources claim one path. */
export function createApp<Services>(options: AppOptions<Services>): App {
  const { driver, log, scoping } = options;
  const metrics = createMetrics(() => driver.ping());
  const redfish = createPipeline(options);
  const driverFor = (request: IncomingMessage): PagesDriver => {
    const scope = scoping?.scopeOf(request) ?? null;
    return scope === null || scoping === undefined ? driver : scoping.servicesOf(scope).driver;
  };
  const pages = createPages({ ...options, driverFor, metrics });
  const nextId = createRequestIds();

  const handler = (request: IncomingMessage, response: ServerResponse): void => {
    const started = performance.now();
    const method = request.method ?? '';
    const id = acceptableId(request.headers['x-request-id'], MAX_ID_LENGTH) ?? nextId();
    const url = originForm(request);
    const answered = metrics.requestStarted(method);

    const finish = ({ route, status, user, refused, error }: Outcome): void => {
      const ms = performance.now() - started;
      answered(route, status, ms / 1000);
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
      // A host or an image server that fails is no fault of ours.
      if (status === 500) log.error('answering a request failed', { id, error });
      else log.warn('a request could not be served', { id, error });
    };
    const answer = hasOneHost(request) ? (isRedfish(url) ? redfish : pages) : refuseHost;
    answer(request, response, id).then(finish, (error: unknown) => {
      // Only a bug in the sending of an answer leads here; the client gets what can still be given: an end.
      response.destroy();
      finish({ route: 'unmatched', status: 500, user: null, error });
    });
  };
  const clientError = (error: NodeJS.ErrnoException, socket: Duplex): void => {
    const status = answerClientError(error, socket);
    if (status === undefined) return;
    // Nothing of such a request is known but that it came.
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
    // Who sent it is not looked at: whoever else was on the way may have read the password.
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
  return { handler, clientError, redirect, close: () => metrics.clear() };
}

/** 308, for it leaves the method and the body as they are (RFC 9110 §15.4.9). */
function redirection(request: IncomingMessage): Answer {
  const path = originForm(request);
  const { host } = request.headers;
  if (host === undefined) return errorAnswer(refuse('HeaderMissing', 'Host'));
  const target = `https://${host}${path}`;
  // What is no host or no path (`*`) would make another address of it.
  if (!/^[\w.:[\]-]+$/.test(host) || !path.startsWith('/') || !URL.canParse(target)) {
    return errorAnswer(refuse('HeaderInvalid', 'Host'));
  }
  return emptyAnswer(308, { Location: target, 'Content-Length': '0' });
}

/** Ids that tell the requests of a process apart, and those of two processes. */
function createRequestIds(): () => string {
  const process = randomBytes(4).toString('hex');
  let count = 0;
  return () => `${process}-${(count += 1).toString(36)}`;
}

/** Maximum length of a client's request id, in characters. */
const MAX_ID_LENGTH = 64;

const refuseHost: Pipeline = ({ headers }, response, requestId) => {
  const answer = errorAnswer(refuse(headers.host === undefined ? 'HeaderMissing' : 'HeaderInvalid', 'Host'));
  send(response, answer, requestId);
  return Promise.resolve({ route: 'unmatched', status: answer.status, user: null });
};

/**
 * The path and query; a proxy may send the whole URL (RFC 9112 §3.2.2), which the routers need not know about. Its host takes the
 * place of the header's.
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
