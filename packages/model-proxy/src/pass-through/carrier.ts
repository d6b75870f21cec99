/**
 * Handles raw requests: selects the deployment, reads as much of the body as that needs, and sends
 * the request.
 */
import { performance } from 'node:perf_hooks';
import type { Socket } from 'node:net';
import type { Exchange } from '../exchange/exchange.js';
import { checkTransferCoding, mediaType } from '../exchange/request/request-head.js';
import { refuse } from '../exchange/answer/refusal.js';
import { boundsOf, requestBounds, shownTimeout } from '../exchange/request-bounds.js';
import { methodNotAllowed, missingModel, noSuchPath, ProxyError, toProxyError, webSocketOnly } from '../errors.js';
import type { Timeouts } from '../providers/deployment.js';
import { noDeploymentFor } from '../routing/no-deployment.js';
import type { Selection } from '../routing/router.js';
import type { PooledUpstream } from '../upstream/send.js';
import { AgentsByDeployment } from './agents.js';
import { sendContinue, hasBody, readFormHead, readWhole } from './body-reader.js';
import { chooseFiles, chooseProvider, hasOneAccount, type Choosing, type FilesChoice } from './choose.js';
import { FormHeadReader } from './form-head.js';
import { rawRequestHeaders } from './headers.js';
import { jsonChoice, listed } from './json-choice.js';
import { inspectForm } from './late-fields.js';
import { loadProxyMiddleware } from './proxy-middleware.js';
import { rawMethods, rawTarget, upstreamUrl, type RawTarget } from './paths.js';
import { queryOf, queryText, valueIn, withValue, type QueryPair } from './query.js';
import { RawCall, type RawBody } from './raw-call.js';
import type { RawPlan } from './raw-request.js';
import { WebSocketCall } from './web-socket.js';

/** The handler of raw requests. */
export interface Carrier {
  /** Handles an HTTP request. */
  handle(exchange: Exchange): void;
  /** Handles the handshake of a WebSocket. @param head bytes after the client's head. */
  upgrade(exchange: Exchange, socket: Socket, head: Buffer): void;
  /** Sends a close frame to both sides of all WebSockets. */
  closeWebSockets(): void;
}

/** Options of {@link createCarrier}. */
export interface CarrierOptions {
  readonly upstream: Pick<PooledUpstream, 'wayTo'>;
}

/** LiteLLM's names for the deployment of a file. They are for this proxy and are not forwarded. */
const choiceNames: ReadonlySet<string> = new Set(['model', 'target_model_names', 'custom_llm_provider']);
const choiceInQuery: ReadonlySet<string> = new Set([...choiceNames, 'provider']);
/** The client's key in a query, as Azure's browser clients send it. */
const keyInQuery: ReadonlySet<string> = new Set(['api-key', 'api_key']);

/** A raw request before its body is read. */
interface RawTask {
  readonly exchange: Exchange;
  readonly target: RawTarget;
  readonly path: string;
  /** The query without keys. */
  readonly query: readonly QueryPair[];
  readonly choosing: Choosing;
}

/** The selected deployment, and the parts of the request to forward. */
interface Decision {
  readonly selection: Selection;
  readonly query: readonly QueryPair[];
  readonly body: RawBody;
  /** Bytes of the body; null: sent in chunks; 'none': no body. */
  readonly length: number | null | 'none';
  readonly streams: boolean;
}

/** Makes the handler of raw requests. */
export function createCarrier({ upstream }: CarrierOptions): Carrier {
  const agents = new AgentsByDeployment();
  const webSockets = new Set<WebSocketCall>();

  const taskOf = (exchange: Exchange): RawTask => {
    const { request, serving } = exchange;
    const url = request.url ?? '/';
    const target = rawTarget(url);
    const path = url.split(/[?#]/, 1)[0] ?? '/';
    if (target === undefined) throw noSuchPath(request.method ?? '', path);
    const query = queryOf(url).filter(({ name }) => !keyInQuery.has(name));
    exchange.bounds = requestBounds(request.headers);
    checkTransferCoding(request.headers);
    return {
      exchange,
      target,
      path,
      query,
      choosing: { ...serving, ofEnvironment: serving.settings.environmentDeployment ?? null },
    };
  };

  const plan = ({ exchange, target }: RawTask, { selection, query, length }: Decision): RawPlan => {
    const { request, serving, id } = exchange;
    const { deployment } = selection;
    exchange.selection = selection;
    const url = upstreamUrl(deployment.apiBase, target) + queryText(query);
    const way = upstream.wayTo(deployment, url);
    if (way instanceof ProxyError) throw way;
    const limited = serving.limits.admit(deployment);
    if (limited !== undefined) throw limited;
    const headers = rawRequestHeaders({
      head: request.headers,
      deployment,
      version: serving.version,
      id,
      host: new URL(url).host,
    });
    if (length === null) headers['transfer-encoding'] = 'chunked';
    else if (length !== 'none') headers['content-length'] = String(length);
    const account = way.absolute?.authorization ?? null;
    if (account !== null) headers['proxy-authorization'] = account;
    return { way, method: request.method ?? 'GET', url, headers: headers as RawPlan['headers'] };
  };

  const bound = (exchange: Exchange, { deployment }: Selection, streams: boolean): Timeouts => {
    const timeouts = boundsOf(exchange.bounds, deployment, streams);
    exchange.timeoutMs = shownTimeout(timeouts, streams);
    return timeouts;
  };

  const send = (request: RawTask, decision: Decision): void => {
    const { exchange } = request;
    const made = plan(request, decision);
    exchange.receivedAt = performance.now();
    sendContinue(exchange);
    void loadProxyMiddleware().then(
      (createProxy) => {
        if (exchange.response.destroyed) return;
        new RawCall({
          exchange,
          createProxy,
          agents: agents.of(made.way),
          plan: made,
          body: decision.body,
          timeouts: bound(exchange, decision.selection, decision.streams),
          traced: traced(
            exchange,
            made,
            decision.body.kind === 'buffered' ? decision.body.chunks : [decision.body.head],
          ),
        });
      },
      (error: unknown) => refuse(exchange, toProxyError(error)),
    );
  };

  return {
    handle(exchange) {
      try {
        const request = taskOf(exchange);
        const { method = '' } = exchange.request;
        if (!rawMethods.includes(method)) throw methodNotAllowed(method, request.path, rawMethods.join(', '));
        if (request.target.kind === 'realtime') throw webSocketOnly(request.path);
        decide(request, (decision) => send(request, decision));
      } catch (error) {
        refuse(exchange, toProxyError(error));
      }
    },
    upgrade(exchange, socket, head) {
      try {
        const request = taskOf(exchange);
        const { method = '' } = exchange.request;
        if (method !== 'GET') throw methodNotAllowed(method, request.path, 'GET');
        const decision = decideWebSocket(request);
        const made = plan(request, decision);
        Object.assign(made.headers, { connection: 'Upgrade', upgrade: 'websocket' });
        void loadProxyMiddleware().then(
          (createProxy) => {
            if (socket.destroyed) return;
            const webSocket = new WebSocketCall({
              exchange,
              socket,
              head,
              createProxy,
              agents: agents.of(made.way),
              plan: made,
              timeouts: bound(exchange, decision.selection, true),
              traced: traced(exchange, made, []),
            });
            webSockets.add(webSocket);
            socket.once('close', () => webSockets.delete(webSocket));
          },
          (error: unknown) => refuse(exchange, toProxyError(error)),
        );
      } catch (error) {
        refuse(exchange, toProxyError(error));
      }
    },
    closeWebSockets() {
      for (const webSocket of webSockets) webSocket.close();
    },
  };
}

function traced({ serving, id }: Exchange, { method, url, headers, way }: RawPlan, body: readonly Buffer[]) {
  const flat = Object.entries(headers).flatMap(([name, value]) => [name, [value].flat().join(', ')]);
  return serving.trace?.sending(id, { method, url, headers: flat, body, deployment: way.peer.deployment }) ?? null;
}

/**
 * Selects the deployment. Reads as much of the body as that needs. The client gets errors, also
 * those that occur later.
 */
function decide(task: RawTask, done: (decision: Decision) => void): void {
  const { exchange, target } = task;
  const type = exchange.request.headers['content-type'] ?? '';
  const isJson = hasBody(exchange) && /^application\/(?:[\w.+-]+\+)?json$/.test(mediaType(type));
  const { maxRequestBytes } = exchange.serving.settings;
  if (target.kind === 'files') decideFiles(task, isJson, done);
  else if (target.kind === 'provider' && target.family === 'vllm' && isJson) {
    readWhole(exchange, maxRequestBytes, (chunks) => {
      const json = jsonChoice(chunks);
      const model = json.text('model');
      const { selection, query } = byQuery(task, model);
      const isCalledSo = model === undefined || model === selection.upstreamModel;
      done(
        buffered(selection, query, isCalledSo ? chunks : json.replaced('model', selection.upstreamModel), json.streams),
      );
    });
  } else done(streamed(exchange, byQuery(task)));
}

/**
 * Selects the deployment of a file by the path, the query, a header or the body, which LiteLLM's
 * clients use.
 */
function decideFiles(task: RawTask, isJson: boolean, done: (decision: Decision) => void): void {
  const { exchange } = task;
  const query = task.query.filter(({ name }) => !choiceInQuery.has(name));
  const type = exchange.request.headers['content-type'] ?? '';
  const form = hasBody(exchange) ? FormHeadReader.of(type, choiceNames) : undefined;
  if (form !== undefined) {
    readFormHead(exchange, form, ({ fields, rest, removed }) => {
      const selection = selectForFiles(task, {
        models: [...listed(fields.get('model') ?? ''), ...listed(fields.get('target_model_names') ?? '')],
        provider: fields.get('custom_llm_provider') ?? null,
      });
      const length = lengthOf(exchange);
      const isNamed = fields.size > 0 || inHead(task) !== undefined;
      const inspect = isNamed || hasOneAccount(task.choosing) ? undefined : inspectForm(type, choiceNames);
      inspect?.(rest);
      const body = { kind: 'streamed', head: rest, ...(inspect === undefined ? {} : { inspect }) } as const;
      done({ selection, query, streams: false, body, length: typeof length === 'number' ? length - removed : length });
    });
  } else if (isJson) {
    readWhole(exchange, exchange.serving.settings.maxRequestBytes, (chunks) => {
      const json = jsonChoice(chunks);
      const models = [...json.texts('model'), ...json.texts('target_model_names')];
      const selection = selectForFiles(task, { models, provider: json.text('custom_llm_provider') ?? null });
      done(buffered(selection, query, json.without(choiceNames), json.streams));
    });
  } else done(streamed(exchange, { selection: selectForFiles(task, { models: [], provider: null }), query }));
}

/** Selects the deployment of a file. The head has priority: some clients cannot change the body. */
function selectForFiles(task: RawTask, inBody: FilesChoice): Selection {
  return chooseFiles(inHead(task) ?? inBody, task.path, task.choosing);
}

/** Returns the names in path, query and headers; undefined: none. */
function inHead({ exchange, target, query }: RawTask): FilesChoice | undefined {
  const { headers } = exchange.request;
  const inHeader = headers['custom-llm-provider'];
  const inPath = target.kind === 'files' ? target.provider : null;
  const inQuery = valueIn(query, 'custom_llm_provider', 'provider');
  const models = listed(valueIn(query, 'model', 'target_model_names') ?? '');
  const named = typeof inHeader === 'string' && inHeader !== '' ? inHeader : undefined;
  const provider = inPath ?? named ?? inQuery ?? null;
  return models.length > 0 || provider !== null ? { models, provider } : undefined;
}

/**
 * Selects the deployment by model.
 * @param model the body's, which has priority over the query's.
 */
function byQuery({ target, path, query, choosing }: RawTask, model?: string): Pick<Decision, 'selection' | 'query'> {
  const family = target.kind === 'provider' ? target.family : 'openai';
  const inQuery = valueIn(query, 'model');
  const selection = chooseProvider(family, model ?? inQuery, path, choosing);
  const renames = model === undefined && inQuery !== undefined && inQuery !== selection.upstreamModel;
  return { selection, query: renames ? withValue(query, 'model', selection.upstreamModel) : query };
}

function decideWebSocket(task: RawTask): Decision {
  const { exchange, target, path, query, choosing } = task;
  const { router } = exchange.serving;
  if (target.kind === 'files') throw noSuchPath('WebSocket', path);
  if (target.kind === 'provider') return streamed(exchange, byQuery(task));
  const model = valueIn(query, 'model');
  if (model === undefined) {
    // OpenAI requires no model for a transcription or for a call that continues.
    if (valueIn(query, 'intent', 'call_id') === undefined) throw missingModel(target.rest, router.modelNames);
    return streamed(exchange, { selection: chooseFiles({ models: [], provider: null }, path, choosing), query });
  }
  const selection = router.select(model);
  if (selection === undefined) throw noDeploymentFor(model, target.rest, exchange.serving);
  return streamed(exchange, { selection, query: withValue(query, 'model', selection.upstreamModel) });
}

/** Makes the decision for a request whose body the proxy does not read. */
function streamed(exchange: Exchange, { selection, query }: Pick<Decision, 'selection' | 'query'>): Decision {
  const streams = exchange.request.headers.accept?.includes('text/event-stream') === true;
  const nothing = Buffer.alloc(0);
  if (!hasBody(exchange)) return { ...buffered(selection, query, [], streams), length: lengthOf(exchange) };
  return { selection, query, streams, body: { kind: 'streamed', head: nothing }, length: lengthOf(exchange) };
}

/** Makes the decision for a body in memory. */
function buffered(
  selection: Selection,
  query: readonly QueryPair[],
  chunks: readonly Buffer[],
  streams: boolean,
): Decision {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return { selection, query, streams, body: { kind: 'buffered', chunks }, length };
}

/** Returns the length that the client announced. */
function lengthOf({ request }: Exchange): Decision['length'] {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding !== undefined) return null;
  return length === undefined ? 'none' : Number(length);
}
