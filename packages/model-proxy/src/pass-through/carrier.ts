/** What becomes of a raw request: where it goes, with which head, with how much of its body looked at first. */
import { performance } from 'node:perf_hooks';
import type { Socket } from 'node:net';
import type { Exchange } from '../endpoints/exchange.js';
import { mediaType } from '../endpoints/request-head.js';
import { refuse } from '../endpoints/refusal.js';
import { boundsOf, requestBounds, shownTimeout } from '../endpoints/request-bounds.js';
import { methodNotAllowed, missingModel, noSuchPath, ProxyError, toProxyError, webSocketOnly } from '../errors.js';
import type { Timeouts } from '../providers/deployment.js';
import { noDeploymentFor } from '../routing/no-deployment.js';
import type { Selection } from '../routing/router.js';
import type { PooledUpstream } from '../upstream/send.js';
import { AgentsByDeployment } from './agents.js';
import { giveLeave, hasBody, readFormHead, readWhole } from './body-reader.js';
import { chooseFiles, chooseProvider, hasOnePlace, type Choosing, type FilesChoice } from './choose.js';
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

export interface Carrier {
  handle(exchange: Exchange): void;
  upgrade(exchange: Exchange, socket: Socket, head: Buffer): void;
  /** Tells both sides of every WebSocket that this proxy goes away. */
  sayGoodbye(): void;
}

export interface CarrierOptions {
  readonly upstream: Pick<PooledUpstream, 'wayTo'>;
}

/** LiteLLM's names for where a file goes; they are for this proxy and never go on. */
const choiceNames: ReadonlySet<string> = new Set(['model', 'target_model_names', 'custom_llm_provider']);
const choiceInQuery: ReadonlySet<string> = new Set([...choiceNames, 'provider']);
/** The client's key, as Azure's browsers spell it. */
const keyInQuery: ReadonlySet<string> = new Set(['api-key', 'api_key']);

/** A request that is known to be one of these, before its body is looked at. */
interface Asked {
  readonly exchange: Exchange;
  readonly target: RawTarget;
  readonly path: string;
  /** Without keys. */
  readonly query: readonly QueryPair[];
  readonly choosing: Choosing;
}

/** Where it goes, and what of it goes there. */
interface Decided {
  readonly selection: Selection;
  readonly query: readonly QueryPair[];
  readonly body: RawBody;
  /** In bytes; null: in chunks; 'none': there is no body. */
  readonly length: number | null | 'none';
  readonly streams: boolean;
}

export function createCarrier({ upstream }: CarrierOptions): Carrier {
  const agents = new AgentsByDeployment();
  const webSockets = new Set<WebSocketCall>();

  const asked = (exchange: Exchange): Asked => {
    const { request, serving } = exchange;
    const url = request.url ?? '/';
    const target = rawTarget(url);
    const path = url.split(/[?#]/, 1)[0] ?? '/';
    if (target === undefined) throw noSuchPath(request.method ?? '', path);
    const query = queryOf(url).filter(({ name }) => !keyInQuery.has(name));
    exchange.bounds = requestBounds(request.headers);
    return {
      exchange,
      target,
      path,
      query,
      choosing: { ...serving, ofEnvironment: serving.settings.environmentDeployment ?? null },
    };
  };

  const plan = ({ exchange, target }: Asked, { selection, query, length }: Decided): RawPlan => {
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

  const send = (request: Asked, decided: Decided): void => {
    const { exchange } = request;
    const made = plan(request, decided);
    exchange.receivedAt = performance.now();
    giveLeave(exchange);
    void loadProxyMiddleware().then(
      (createProxy) => {
        if (exchange.response.destroyed) return;
        new RawCall({
          exchange,
          createProxy,
          agents: agents.of(made.way),
          plan: made,
          body: decided.body,
          timeouts: bound(exchange, decided.selection, decided.streams),
          traced: traced(exchange, made, decided.body.kind === 'kept' ? decided.body.chunks : [decided.body.head]),
        });
      },
      (error: unknown) => refuse(exchange, toProxyError(error)),
    );
  };

  return {
    handle(exchange) {
      try {
        const request = asked(exchange);
        const { method = '' } = exchange.request;
        if (!rawMethods.includes(method)) throw methodNotAllowed(method, request.path, rawMethods.join(', '));
        if (request.target.kind === 'realtime') throw webSocketOnly(request.path);
        decide(request, (decided) => send(request, decided));
      } catch (error) {
        refuse(exchange, toProxyError(error));
      }
    },
    upgrade(exchange, socket, head) {
      try {
        const request = asked(exchange);
        const { method = '' } = exchange.request;
        if (method !== 'GET') throw methodNotAllowed(method, request.path, 'GET');
        const decided = decideWebSocket(request);
        const made = plan(request, decided);
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
              timeouts: bound(exchange, decided.selection, true),
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
    sayGoodbye() {
      for (const webSocket of webSockets) webSocket.sayGoodbye();
    },
  };
}

function traced({ serving, id }: Exchange, { method, url, headers, way }: RawPlan, body: readonly Buffer[]) {
  const flat = Object.entries(headers).flatMap(([name, value]) => [name, [value].flat().join(', ')]);
  return serving.trace?.sending(id, { method, url, headers: flat, body, deployment: way.peer.deployment }) ?? null;
}

/** Looks at so much of the body as it takes, then tells. What it throws, now or later, the client is told. */
function decide(asked: Asked, done: (decided: Decided) => void): void {
  const { exchange, target } = asked;
  const type = exchange.request.headers['content-type'] ?? '';
  const isJson = hasBody(exchange) && /^application\/(?:[\w.+-]+\+)?json$/.test(mediaType(type));
  const { maxRequestBytes } = exchange.serving.settings;
  if (target.kind === 'files') decideFiles(asked, isJson, done);
  else if (target.kind === 'provider' && target.family === 'vllm' && isJson) {
    readWhole(exchange, maxRequestBytes, (chunks) => {
      const json = jsonChoice(chunks);
      const model = json.text('model');
      const { selection, query } = byQuery(asked, model);
      const isCalledSo = model === undefined || model === selection.upstreamModel;
      done(kept(selection, query, isCalledSo ? chunks : json.replaced('model', selection.upstreamModel), json.streams));
    });
  } else done(unread(exchange, byQuery(asked)));
}

/** A file's place is told by the path, the query, a header, or by the body where LiteLLM's clients put it. */
function decideFiles(asked: Asked, isJson: boolean, done: (decided: Decided) => void): void {
  const { exchange } = asked;
  const query = asked.query.filter(({ name }) => !choiceInQuery.has(name));
  const type = exchange.request.headers['content-type'] ?? '';
  const form = hasBody(exchange) ? FormHeadReader.of(type, choiceNames) : undefined;
  if (form !== undefined) {
    readFormHead(exchange, form, ({ fields, rest, removed }) => {
      const selection = selectForFiles(asked, {
        models: [...listed(fields.get('model') ?? ''), ...listed(fields.get('target_model_names') ?? '')],
        provider: fields.get('custom_llm_provider') ?? null,
      });
      const length = lengthOf(exchange);
      const isNamed = fields.size > 0 || inHead(asked) !== undefined;
      const inspect = isNamed || hasOnePlace(asked.choosing) ? undefined : inspectForm(type, choiceNames);
      inspect?.(rest);
      const body = { kind: 'streamed', head: rest, ...(inspect === undefined ? {} : { inspect }) } as const;
      done({ selection, query, streams: false, body, length: typeof length === 'number' ? length - removed : length });
    });
  } else if (isJson) {
    readWhole(exchange, exchange.serving.settings.maxRequestBytes, (chunks) => {
      const json = jsonChoice(chunks);
      const models = [...json.texts('model'), ...json.texts('target_model_names')];
      const selection = selectForFiles(asked, { models, provider: json.text('custom_llm_provider') ?? null });
      done(kept(selection, query, json.without(choiceNames), json.streams));
    });
  } else done(unread(exchange, { selection: selectForFiles(asked, { models: [], provider: null }), query }));
}

/** The head goes before the body: that is what a client sets that cannot know what is in the body. */
function selectForFiles(asked: Asked, inBody: FilesChoice): Selection {
  return chooseFiles(inHead(asked) ?? inBody, asked.path, asked.choosing);
}

/** What path, query and headers say of where a file goes; undefined: nothing. */
function inHead({ exchange, target, query }: Asked): FilesChoice | undefined {
  const { headers } = exchange.request;
  const inHeader = headers['custom-llm-provider'];
  const inPath = target.kind === 'files' ? target.provider : null;
  const inQuery = valueIn(query, 'custom_llm_provider', 'provider');
  const models = listed(valueIn(query, 'model', 'target_model_names') ?? '');
  const named = typeof inHeader === 'string' && inHeader !== '' ? inHeader : undefined;
  const provider = inPath ?? named ?? inQuery ?? null;
  return models.length > 0 || provider !== null ? { models, provider } : undefined;
}

/** @param model of the body, which goes before that of the query. */
function byQuery({ target, path, query, choosing }: Asked, model?: string): Pick<Decided, 'selection' | 'query'> {
  const family = target.kind === 'provider' ? target.family : 'openai';
  const inQuery = valueIn(query, 'model');
  const selection = chooseProvider(family, model ?? inQuery, path, choosing);
  const renames = model === undefined && inQuery !== undefined && inQuery !== selection.upstreamModel;
  return { selection, query: renames ? withValue(query, 'model', selection.upstreamModel) : query };
}

function decideWebSocket(asked: Asked): Decided {
  const { exchange, target, path, query, choosing } = asked;
  const { router } = exchange.serving;
  if (target.kind === 'files') throw noSuchPath('WebSocket', path);
  if (target.kind === 'provider') return unread(exchange, byQuery(asked));
  const model = valueIn(query, 'model');
  if (model === undefined) {
    // A transcription, or a call that goes on: OpenAI wants no model then.
    if (valueIn(query, 'intent', 'call_id') === undefined) throw missingModel(target.rest, router.modelNames);
    return unread(exchange, { selection: chooseFiles({ models: [], provider: null }, path, choosing), query });
  }
  const selection = router.select(model);
  if (selection === undefined) throw noDeploymentFor(model, target.rest, exchange.serving);
  return unread(exchange, { selection, query: withValue(query, 'model', selection.upstreamModel) });
}

/** Nothing of the body has been looked at. */
function unread(exchange: Exchange, { selection, query }: Pick<Decided, 'selection' | 'query'>): Decided {
  const streams = exchange.request.headers.accept?.includes('text/event-stream') === true;
  const nothing = Buffer.alloc(0);
  if (!hasBody(exchange)) return { ...kept(selection, query, [], streams), length: lengthOf(exchange) };
  return { selection, query, streams, body: { kind: 'streamed', head: nothing }, length: lengthOf(exchange) };
}

function kept(selection: Selection, query: readonly QueryPair[], chunks: readonly Buffer[], streams: boolean): Decided {
  const length = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return { selection, query, streams, body: { kind: 'kept', chunks }, length };
}

/** As the client announced it. */
function lengthOf({ request }: Exchange): Decided['length'] {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  if (coding !== undefined) return null;
  return length === undefined ? 'none' : Number(length);
}
