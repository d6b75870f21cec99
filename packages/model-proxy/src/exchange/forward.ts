/**
 * Forwards model requests. A request passes these steps: authenticate the client, read and verify
 * the body while it arrives, select the deployment, make the headers and the body for the upstream,
 * send. The kind of the upstream's answer then decides how it goes to the client. All steps use
 * callbacks: a promise for each chunk would cost more than the work on the chunk.
 */
import { performance } from 'node:perf_hooks';
import { chunkLimitOf } from '../chunk-limit.js';
import { missingModel, missingParameter, missingUser } from '../errors/model.js';
import { requestTooLarge } from '../errors/body.js';
import { ProxyError, toProxyError } from '../errors/proxy-error.js';
import { translationOf } from '../providers/translation.js';
import { noDeploymentFor } from '../routing/no-deployment.js';
import type { ModelNameInResponse } from '../settings.js';
import type { TracedCall, TracedRequest } from '../trace.js';
import { BodyStream } from '../upstream/body-stream.js';
import type { SentCall, UpstreamHandler, UpstreamRequest } from '../upstream/upstream.js';
import { headerOf, type Answer, type AnswerContext } from './answer/answer.js';
import { ErrorAnswer } from './answer/error-answer.js';
import { EventAnswer } from './answer/event-answer.js';
import type { Exchange } from './exchange.js';
import { JsonAnswer } from './answer/json-answer.js';
import type { Target } from '../endpoints/paths.js';
import { RawAnswer } from './answer/raw-answer.js';
import { breakOff, refuse } from './answer/refusal.js';
import type { RequestBody } from './request/request-body.js';
import { requestTimeouts, clientTimeoutsOf, shownTimeout } from './request-timeouts.js';
import { announcedBody, mediaType } from './request/request-head.js';
import { watchUpload } from './stalled-uploads.js';
import { translatedAnswer } from './answer/translated-answer.js';
import { UntypedAnswer } from './answer/untyped-answer.js';
import { upstreamRequest } from './request/upstream-request.js';

/**
 * Forwards one POST to an upstream and sends the upstream's answer to the client. Never throws: the
 * result is in `exchange.error`. The exchange ends when its response closes.
 */
export function forward(exchange: Exchange, target: Target): void {
  const { request, response, serving } = exchange;
  const { endpoint } = target;
  exchange.routeLabel = `/v1/${endpoint.path}`;
  let body: RequestBody;
  try {
    const client = serving.authenticate(request);
    if (client instanceof ProxyError) throw client;
    exchange.client = client;
    exchange.clientTimeouts = clientTimeoutsOf(request.headers);
    body = announcedBody(request, endpoint, serving.settings.maxRequestBytes);
  } catch (error) {
    refuse(exchange, toProxyError(error));
    return;
  }
  if (exchange.holdsBodyBack) {
    exchange.holdsBodyBack = false;
    response.writeContinue();
  }
  receive(exchange, target, body);
}

function receive(exchange: Exchange, target: Target, body: RequestBody): void {
  const { request, serving } = exchange;
  const limit = serving.settings.maxRequestBytes;
  const chunkLimit = chunkLimitOf(request);
  const upload = watchUpload(exchange);
  let length = 0;
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    upload.isMoving = true;
    if (isOver(exchange)) return;
    try {
      if (length > limit) throw requestTooLarge(limit, undefined);
      chunkLimit?.add(chunk);
      body.push(chunk);
      if (exchange.call !== null || !body.canBeSent) return;
      exchange.receivedAt = performance.now();
      send(exchange, target, body);
    } catch (error) {
      breakOff(exchange, toProxyError(error));
    }
  });
  request.on('end', () => {
    if (isOver(exchange)) return;
    if (exchange.call === null) exchange.receivedAt = performance.now();
    try {
      body.finish();
      if (exchange.call === null) send(exchange, target, body);
      else startWaiting(exchange, body);
    } catch (error) {
      breakOff(exchange, toProxyError(error));
    }
  });
}

/** Returns whether the answer is complete or has failed. The proxy then discards the rest of the body. */
function isOver(exchange: Exchange): boolean {
  return exchange.error !== null || exchange.answeredAt !== 0;
}

/**
 * Handles the end of a body that went upstream while it arrived. The upstream's time begins now,
 * and `stream` is known only now.
 */
function startWaiting(exchange: Exchange, body: RequestBody): void {
  const { selection, clientTimeouts } = exchange;
  if (selection !== null)
    exchange.timeoutMs = shownTimeout(
      requestTimeouts(clientTimeouts, selection.deployment, body.streams),
      body.streams,
    );
  if (exchange.firstByteAt !== 0) return;
  const now = performance.now();
  exchange.receivedAt += now - exchange.sentAt;
  exchange.sentAt = now;
}

/**
 * Selects the deployment and sends the request to it.
 * @throws {ProxyError} 400: the body cannot be forwarded; 404: no such model; 429: a limit is
 *   reached.
 */
function send(exchange: Exchange, { endpoint, model }: Target, body: RequestBody): void {
  const { request, serving, id } = exchange;
  const { router, settings, upstream, trace } = serving;
  const inBody = body.model(endpoint);
  const requested = model ?? inBody;
  if (requested === undefined || requested === '') throw missingModel(endpoint.path, router.modelNames);
  const selection = router.select(requested);
  if (selection === undefined) throw noDeploymentFor(requested, endpoint.path, serving);
  exchange.selection = selection;
  const { requiredParameter } = endpoint;
  if (requiredParameter !== null && !body.has(requiredParameter))
    throw missingParameter(endpoint.path, requiredParameter);
  if (settings.enforceUserParam && !body.has('user')) throw missingUser();
  const limited = serving.limits.admit(selection.deployment);
  if (limited !== undefined) throw limited;

  const { clientTimeouts } = exchange;
  const { streams } = body;
  const { deployment, upstreamModel } = selection;
  const translated = translationOf(deployment.provider, endpoint.path, upstreamModel, streams);
  const head = request.headers;
  const outgoing = upstreamRequest({
    serving,
    selection,
    endpoint,
    body,
    id,
    head,
    clientTimeouts,
    streams,
    translated,
  });
  exchange.timeoutMs = shownTimeout(outgoing.timeouts, streams);
  const rename = renaming(settings.modelNameInResponse, deployment.provider.name, requested);
  const context = { exchange, endpoint, rename, translated };
  const handler = new UpstreamAnswer(context, trace === null ? null : trace.sending(id, tracedRequest(outgoing)), body);
  exchange.sentAt = performance.now();
  const call = upstream.send(outgoing, handler);
  handler.call = call;
  exchange.call = call;
}

/** Returns the request for the trace. For a streaming body: the part received so far. */
function tracedRequest(outgoing: UpstreamRequest): TracedRequest {
  return { ...outgoing, body: outgoing.body instanceof BodyStream ? outgoing.body.traced : outgoing.body };
}

/** Returns how answers rename the model; null: they keep the upstream's name. */
function renaming(setting: ModelNameInResponse, provider: string, requested: string): AnswerContext['rename'] {
  switch (setting) {
    case 'upstream':
      return null;
    case 'requested':
      return () => requested;
    case 'provider': {
      const prefix = `${provider}/`;
      return (reported) => (reported.startsWith(prefix) ? reported : prefix + reported);
    }
  }
}

/** The part of the context that is known before the answer. */
type RequestContext = Pick<AnswerContext, 'exchange' | 'endpoint' | 'rename' | 'translated'>;

/** Handles the upstream's answer to one exchange. */
class UpstreamAnswer implements UpstreamHandler {
  call: SentCall | undefined;
  readonly #context: RequestContext;
  readonly #traced: TracedCall | null;
  readonly #body: RequestBody;
  #answer: Answer | undefined;

  constructor(context: RequestContext, traced: TracedCall | null, body: RequestBody) {
    this.#context = context;
    this.#traced = traced;
    this.#body = body;
  }

  onHead(status: number, headers: readonly string[]): void {
    const { call } = this;
    if (call === undefined) return;
    try {
      this.#traced?.head(status, headers);
      const { exchange, endpoint, rename, translated } = this.#context;
      this.#answer = answerOf({ exchange, endpoint, rename, translated, call, status, headers });
    } catch (error) {
      this.#fault(error);
    }
  }

  onData(chunk: Buffer): void {
    const { exchange } = this.#context;
    if (exchange.firstByteAt === 0) exchange.firstByteAt = performance.now();
    try {
      this.#traced?.data(chunk);
      this.#answer?.data(chunk);
    } catch (error) {
      this.#fault(error);
    }
  }

  onEnd(): void {
    this.#context.exchange.answeredAt = performance.now();
    try {
      this.#traced?.end();
      this.#answer?.end();
    } catch (error) {
      this.#fault(error);
    }
    if (this.call?.isBodyFree === true) this.#body.release?.();
  }

  onError(error: ProxyError): void {
    this.#context.exchange.answeredAt = performance.now();
    try {
      this.#traced?.fail(error);
      if (this.#answer === undefined) refuse(this.#context.exchange, error);
      else this.#answer.fail(error);
    } catch (fault) {
      this.#fault(fault);
    }
  }

  /**
   * Handles an answer that cannot be forwarded, and bugs in this proxy. Ends only this request: an
   * exception in a callback of the upstream client would end the process.
   */
  #fault(error: unknown): void {
    const { exchange } = this.#context;
    exchange.answeredAt = performance.now();
    breakOff(exchange, toProxyError(error));
  }
}

const EVENTS = 'text/event-stream';

/** Makes the answer by the upstream's status and content type, not by what the client asked for. */
function answerOf(context: AnswerContext): Answer {
  const { status, headers } = context;
  if (status < 200 || status >= 300) return new ErrorAnswer(context);
  const type = mediaType(headerOf(headers, 'content-type') ?? '');
  if (context.translated !== null) return translatedAnswer(context, context.translated, type);
  if (type === '' || (context.endpoint.answersJson && type.startsWith('text/') && type !== EVENTS))
    return new UntypedAnswer(context);
  if (type === EVENTS) return new EventAnswer(context);
  if (type === 'application/json' || type.endsWith('+json')) return new JsonAnswer(context);
  return new RawAnswer(context);
}
