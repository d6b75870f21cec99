/** Forwards raw requests and WebSockets: selects the deployment, and sends the request. */
import type { OutgoingHttpHeaders } from 'node:http';
import { performance } from 'node:perf_hooks';
import type { WebSocketClient } from '../dispatch.js';
import { plainPath } from '../endpoints/paths.js';
import type { Exchange } from '../exchange/exchange.js';
import { checkTransferCoding, mediaType } from '../exchange/request/request-head.js';
import { refuse } from '../exchange/answer/refusal.js';
import { settleOpen } from '../exchange/settle.js';
import { requestTimeouts, clientTimeoutsOf, shownTimeout } from '../exchange/request-timeouts.js';
import { unsupportedContentType } from '../errors/body.js';
import { methodNotAllowed, noSuchPath, webSocketOnly } from '../errors/path.js';
import { ProxyError, toProxyError } from '../errors/proxy-error.js';
import type { Deployment, Timeouts } from '../providers/deployment.js';
import type { Selection } from '../routing/router.js';
import type { TracedCall, TracedRequest } from '../trace.js';
import type { PooledUpstream } from '../upstream/send.js';
import { agentOf } from './agents.js';
import { sendContinue } from './body-reader.js';
import { decide, decideWebSocket, type Decision, type RawTask } from './decide.js';
import type { CloseReason } from './web-socket/frames.js';
import { flatHeaders, rawRequestHeaders } from './headers.js';
import { rawMethods, rawName, rawTarget, upstreamUrl } from './paths.js';
import { loadProxyMiddleware } from './proxy-middleware.js';
import { queryText, withPairs, type QueryPair } from './query.js';
import { queryWithoutKeys } from './query-key.js';
import { sendRaw } from './raw-call.js';
import { sendStored } from './stored-response.js';
import type { UpgradePlan } from './web-socket/upgrade-request.js';
import type { ScannedApi } from './usage-scanner.js';
import { WebSocketCall } from './web-socket/web-socket-call.js';

/** Forwards raw requests and WebSockets. */
export interface RawHandler {
  /** Forwards an HTTP request, and answers it. */
  handle(exchange: Exchange): void;
  /** Forwards a WebSocket, from the client's handshake on. */
  upgrade(exchange: Exchange, client: WebSocketClient): void;
  /** Sends a close frame to both sides of all WebSockets. */
  closeWebSockets(): void;
}

/** How often the proxy checks the clients of open WebSockets again. */
const RECHECK_MS = 5000;
/** Status code 1001: going away (RFC 6455 §7.4.1). */
const SHUTDOWN: CloseReason = { code: 1001, reason: 'the proxy is shutting down' };

/** Options of {@link createRawHandler}. */
export interface RawHandlerOptions {
  readonly upstream: Pick<PooledUpstream, 'connectorFor'>;
}

/** Makes the handler of raw requests. */
export function createRawHandler({ upstream }: RawHandlerOptions): RawHandler {
  const webSockets = new OpenWebSockets();
  return {
    handle(exchange) {
      try {
        const task = taskOf(exchange);
        const { method = '' } = exchange.request;
        if (task.target.kind === 'response') {
          sendStored(task, task.target);
          return;
        }
        if (!rawMethods.includes(method)) throw methodNotAllowed(method, task.path, rawMethods.join(', '));
        if (task.target.kind === 'realtime') throw webSocketOnly(task.path);
        decide(task, (decision) => send(task, decision));
      } catch (error) {
        refuse(exchange, toProxyError(error));
      }
    },
    upgrade(exchange, { socket, head, recheck }) {
      try {
        const task = taskOf(exchange);
        const { method = '' } = exchange.request;
        if (method !== 'GET') throw methodNotAllowed(method, task.path, 'GET');
        const decision = decideWebSocket(task);
        const plan = upgradePlan(task, decision, upstream);
        void loadProxyMiddleware().then(
          (createProxy) => {
            if (socket.destroyed) return;
            const { deployment } = decision.selection;
            const request = { deployment, method, url: plan.url, headers: flatHeaders(plan.headers), body: [] };
            const webSocket = new WebSocketCall({
              exchange,
              socket,
              head,
              createProxy,
              agent: agentOf(plan.connector),
              plan,
              timeouts: timeoutsOf(exchange, decision.selection, true),
              traced: traceCall(exchange, request),
            });
            webSockets.add(webSocket, () => {
              settleOpen(exchange);
              return recheck();
            });
            socket.once('close', () => webSockets.delete(webSocket));
          },
          (error: unknown) => refuse(exchange, toProxyError(error)),
        );
      } catch (error) {
        refuse(exchange, toProxyError(error));
      }
    },
    closeWebSockets() {
      webSockets.close();
    },
  };
}

/** The open WebSockets. Counts their usage, and ends those whose clients may no longer use the proxy. */
class OpenWebSockets {
  readonly #open = new Map<WebSocketCall, WebSocketClient['recheck']>();
  #timer: NodeJS.Timeout | undefined;

  add(webSocket: WebSocketCall, recheck: WebSocketClient['recheck']): void {
    this.#open.set(webSocket, recheck);
    this.#timer ??= setInterval(() => this.#check(), RECHECK_MS);
  }

  delete(webSocket: WebSocketCall): void {
    this.#open.delete(webSocket);
    if (this.#open.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  close(): void {
    for (const webSocket of this.#open.keys()) webSocket.close(SHUTDOWN);
  }

  #check(): void {
    for (const [webSocket, recheck] of this.#open) {
      const fault = recheck();
      if (fault !== undefined) webSocket.revoke(fault);
    }
  }
}

/** Reads the head of a request. @throws {ProxyError} 404: no such path; 400, 501: invalid header. */
function taskOf(exchange: Exchange): RawTask {
  const { request, proxy } = exchange;
  const url = request.url ?? '/';
  const target = rawTarget(url);
  const path = url.split(/[?#]/, 1)[0] ?? '/';
  if (target === undefined) throw noSuchPath(request.method ?? '', path);
  const query = queryWithoutKeys(plainPath(url), url);
  exchange.clientTimeouts = clientTimeoutsOf(request.headers);
  checkTransferCoding(request.headers);
  const selectionContext = { ...proxy, environmentDeployment: proxy.settings.environmentDeployment ?? null };
  return { exchange, target, path, query, selectionContext };
}

/** Sends an HTTP request. @throws {ProxyError} 429: a limit is reached. */
function send(task: RawTask, { selection, query, body, streams }: Decision): void {
  const { exchange } = task;
  const method = exchange.request.method ?? 'GET';
  const scanned = scannedApiOf(task, method);
  const { url, headers } = headOf(task, selection, scanned === 'gemini' ? query.filter(showsUsage) : query);
  admit(exchange, selection);
  exchange.receivedAt = performance.now();
  sendContinue(exchange);
  // The upstream client sets this header.
  delete headers.host;
  if (scanned !== null) {
    // The proxy could not read a compressed answer.
    headers['accept-encoding'] = 'identity';
    delete headers['x-goog-fieldmask'];
  }
  const request = {
    deployment: selection.deployment,
    method,
    url,
    headers: flatHeaders(headers),
    timeouts: timeoutsOf(exchange, selection, streams),
  };
  const tracedBody = body.kind === 'buffered' ? body.chunks : [body.head];
  sendRaw({ exchange, request, body, scanned, traced: traceCall(exchange, { ...request, body: tracedBody }) });
}

/**
 * Matches the end of paths whose POST answers with an object that is counted already, or that has the sum of many
 * requests: a canceled response, a batch, a stored chat completion, a run of an assistant.
 */
const storedAnswer =
  /\/cancel$|(?:^|\/)batches(?:\/[^/]+)?$|\/chat\/completions\/chatcmpl-[^/]+$|\/threads\/[^/]+\/runs\/[^/]+$/;

/**
 * Returns the form in which the answer has its tokens; null: they do not count.
 * @throws {ProxyError} 415: Google's APIs would answer in a form without names.
 */
function scannedApiOf({ target, exchange }: RawTask, method: string): ScannedApi | null {
  if (target.kind !== 'provider' || method !== 'POST' || storedAnswer.test(target.rest)) return null;
  const { headers, url = '/' } = exchange.request;
  if (target.family !== 'gemini')
    return rawName(plainPath(url))?.endsWith('/messages') === true ? 'anthropic' : 'other';
  const type = headers['content-type'];
  if (type !== undefined && mediaType(type) !== 'application/json' && !target.rest.startsWith('upload/'))
    throw unsupportedContentType(type, 'application/json');
  return 'gemini';
}

/**
 * Returns whether a pair of a query lets Google's APIs send the usage in JSON. They can leave out members.
 * @see https://cloud.google.com/apis/docs/system-parameters
 */
function showsUsage({ name, value }: QueryPair): boolean {
  if (/^\$?alt$/i.test(name)) return /^(?:json|sse)$/.test(value);
  return name.toLowerCase() !== 'fields' && !name.startsWith('$');
}

/**
 * Prepares the handshake with the upstream.
 * @throws {ProxyError} if the deployment cannot be used; 429: a limit is reached.
 */
function upgradePlan(
  task: RawTask,
  { selection, query }: Decision,
  upstream: Pick<PooledUpstream, 'connectorFor'>,
): UpgradePlan {
  const { url, headers } = headOf(task, selection, query);
  const connector = upstream.connectorFor(selection.deployment, url);
  if (connector instanceof ProxyError) throw connector;
  admit(task.exchange, selection);
  const authorization = connector.absolute?.authorization ?? null;
  if (authorization !== null) headers['proxy-authorization'] = authorization;
  if (connector.accessToken !== undefined) headers.authorization = `Bearer ${connector.accessToken}`;
  // The proxy reads the tokens in messages, so they must not be compressed.
  delete headers['sec-websocket-extensions'];
  const upgrade = { connection: 'Upgrade', upgrade: 'websocket' };
  return { connector, url, headers: { ...headers, ...upgrade } as UpgradePlan['headers'] };
}

/** Makes the URL and the headers of the request to the upstream. Stores the selection in the exchange. */
function headOf(
  { exchange, target }: RawTask,
  selection: Selection,
  query: Decision['query'],
): { readonly url: string; readonly headers: OutgoingHttpHeaders } {
  const { request, proxy, id } = exchange;
  const { deployment } = selection;
  exchange.selection = selection;
  const url = urlOf(deployment, target, query);
  const { version } = proxy;
  const { host } = new URL(url);
  return { url, headers: rawRequestHeaders({ head: request.headers, deployment, version, id, host }) };
}

/** Returns the URL of a request. For responses, the path comes from the provider's `pathOf`, with its version. */
function urlOf(deployment: Deployment, target: RawTask['target'], query: Decision['query']): string {
  const { apiBase, pathOf, upstreamModel } = deployment;
  const isResponse = target.kind === 'response' || (target.kind === 'realtime' && target.rest === 'responses');
  if (isResponse && pathOf !== undefined) {
    const [path = '', ownQuery = deployment.query] = pathOf(target.rest, {
      model: upstreamModel,
      streams: false,
    }).split('?');
    if (path.endsWith(target.rest)) return `${apiBase}/${path}${queryText(withPairs(query, ownQuery))}`;
  }
  return upstreamUrl(apiBase, target) + queryText(withPairs(query, deployment.query));
}

function admit({ proxy, response }: Exchange, { deployment }: Selection): void {
  const { limits } = proxy;
  const limited = limits.admit(deployment);
  if (limited !== undefined) throw limited;
  response.once('close', () => limits.release(deployment));
}

/** Returns the timeouts of a request. Stores the timeout for the answer's header in the exchange. */
function timeoutsOf(exchange: Exchange, { deployment }: Selection, streams: boolean): Timeouts {
  const timeouts = requestTimeouts(exchange.clientTimeouts, deployment, streams);
  exchange.timeoutMs = shownTimeout(timeouts, streams);
  return timeouts;
}

function traceCall({ proxy, id }: Exchange, request: TracedRequest): TracedCall | null {
  return proxy.trace?.sending(id, request) ?? null;
}
