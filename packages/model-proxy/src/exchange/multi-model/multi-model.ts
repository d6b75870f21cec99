/**
 * Sends one chat request to several models: `model: "gpt-4o,claude"`. The answer is a list with the
 * answers of the models, in the order of the models in `model`.
 * @see https://docs.litellm.ai/docs/completion/batching
 */
import { performance } from 'node:perf_hooks';
import { parseJson } from '@rackless/daemon/text/json.js';
import type { Target } from '../../endpoints/paths.js';
import { invalidParameter } from '../../errors/model.js';
import { toProxyError } from '../../errors/proxy-error.js';
import { answerText } from '../answer/answer-json.js';
import { refuse } from '../answer/refusal.js';
import { Attempts } from '../attempts/attempts.js';
import { Exchange } from '../exchange.js';
import type { RequestBody } from '../request/request-body.js';
import { CollectedResponse } from './collected-response.js';

/** Maximum number of models in a request. LiteLLM has no limit, but each model costs an upstream request. */
const MAX_MODELS = 20;

/** A request to one of the models. */
interface Part {
  readonly exchange: Exchange;
  readonly response: CollectedResponse;
}

/**
 * Returns the models of a request.
 * @returns null: the request is for a single model. It has no comma in `model`, names a model group with a comma,
 *   names the model in its path, or is not a chat request.
 * @throws {ProxyError} 400: too many models, the client requests a stream, or `model` is invalid.
 */
export function modelsOf({ proxy }: Exchange, { endpoint, model }: Target, body: RequestBody): string[] | null {
  if (endpoint.path !== 'chat/completions' || model !== null) return null;
  const list = body.model(endpoint);
  if (list?.includes(',') !== true || proxy.router.deploymentsOf(list).length > 0) return null;
  const models = list.split(',').map((name) => name.trim());
  if (models.length > MAX_MODELS) throw invalidParameter('model', `has more than ${MAX_MODELS} models`);
  if (body.streams) throw invalidParameter('stream', 'must be false for a list of models');
  return models;
}

/** Sends the request to each model. A model that fails has its error in the list. */
export function startForModels(exchange: Exchange, target: Target, body: RequestBody, models: readonly string[]): void {
  const { request, proxy } = exchange;
  let running = models.length;
  const parts: Part[] = [];
  const finish = () => {
    running -= 1;
    if (running === 0) answerParts(exchange, parts);
  };
  for (const model of models) {
    const response = new CollectedResponse(request, finish);
    const part = new Exchange(request, response, proxy, false);
    parts.push({ exchange: part, response });
    const { id, callId, client, clientTimeouts, requestedRetries, requestBytes, receivedAt, routeLabel } = exchange;
    Object.assign(part, { id, callId, client, clientTimeouts, requestedRetries, requestBytes, receivedAt, routeLabel });
    try {
      new Attempts(part, { ...target, model }, sharedBody(body)).start();
    } catch (error) {
      refuse(part, toProxyError(error));
    }
  }
  exchange.parts = parts.map((part) => part.exchange);
  exchange.call = { abort: () => parts.forEach((part) => part.exchange.call?.abort()) };
}

/** Returns the body without its method `release`, which would free memory that other models still need. */
function sharedBody(body: RequestBody): RequestBody {
  return new Proxy(body, {
    get: (target, name) => {
      if (name === 'release') return undefined;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

function answerParts(exchange: Exchange, parts: readonly Part[]): void {
  exchange.sentAt = parts[0]?.exchange.sentAt ?? 0;
  exchange.answeredAt = performance.now();
  if (!exchange.response.destroyed)
    answerText(exchange, 200, 'application/json', `[${parts.map(({ response }) => jsonIn(response)).join()}]`);
}

/**
 * Returns the received text of an answer, because JSON.stringify may fail for a deeply nested one; `null`
 * if the text is not JSON.
 */
function jsonIn({ body }: CollectedResponse): string {
  const text = body.toString();
  return parseJson(text) === undefined ? 'null' : text;
}
