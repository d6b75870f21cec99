/** Selects the deployment of a raw request by names in its head, or in the body if necessary. */
import { requireModelAccess, uncheckedModelFault, visibleModels } from '../exchange/admission.js';
import type { Exchange } from '../exchange/exchange.js';
import { mediaType } from '../exchange/request/request-head.js';
import { noSuchPath } from '../errors/path.js';
import { missingModel } from '../errors/model.js';
import { noDeploymentFor } from '../routing/no-deployment.js';
import type { Selection } from '../routing/router.js';
import { hasBody, readFormHead, readWhole } from './body-reader.js';
import { chooseForFiles, chooseForProvider, hasOneAccount, type SelectionContext, type FilesChoice } from './choose.js';
import { FormHeadReader } from './form-head.js';
import { jsonChoice, splitList } from './json-choice.js';
import { rejectLateFields } from './late-fields.js';
import type { RawTarget } from './paths.js';
import { valueIn, withValue, type QueryPair } from './query.js';
import type { RawBody } from './raw-call.js';

/** LiteLLM's fields that select the deployment of a file. The proxy uses and removes them. */
const choiceNames: ReadonlySet<string> = new Set(['model', 'target_model_names', 'custom_llm_provider']);
const choiceInQuery: ReadonlySet<string> = new Set([...choiceNames, 'provider']);

/** A raw request before its body is read. */
export interface RawTask {
  readonly exchange: Exchange;
  readonly target: RawTarget;
  /** The path of the client's URL, for errors. */
  readonly path: string;
  /** The query without the client's API key. */
  readonly query: readonly QueryPair[];
  readonly selectionContext: SelectionContext;
}

/** The selected deployment, and the parts of the request to forward. */
export interface Decision {
  readonly selection: Selection;
  /** The query for the upstream. */
  readonly query: readonly QueryPair[];
  /** The body for the upstream. */
  readonly body: RawBody;
  /** Whether the client requests a stream. */
  readonly streams: boolean;
}

/**
 * Selects the deployment. Reads the body, or a part of it, only if it may contain a name that selects the
 * deployment. Errors that occur after the reading has begun are sent to the client.
 * @throws {ProxyError} an error that occurs before the body is read.
 */
export function decide(task: RawTask, done: (decision: Decision) => void): void {
  const { exchange, target } = task;
  const type = exchange.request.headers['content-type'] ?? '';
  const isJson = hasBody(exchange) && /^application\/(?:[\w.+-]+\+)?json$/.test(mediaType(type));
  const { maxRequestBytes } = exchange.proxy.settings;
  if (target.kind === 'files') decideFiles(task, isJson, done);
  else if (target.kind === 'provider' && target.family === 'vllm' && isJson) {
    readWhole(exchange, maxRequestBytes, (chunks) => {
      const json = jsonChoice(chunks);
      const model = json.text('model');
      const { selection, query } = byModel(task, model);
      const { upstreamModel } = selection;
      const body = model === undefined || model === upstreamModel ? chunks : json.replaced('model', upstreamModel);
      done(bufferedDecision(selection, query, body, json.streams));
    });
  } else done(streamedDecision(exchange, byModel(task)));
}

/**
 * Selects the deployment of a file by a name in the path, the query, a header or the body. Different
 * clients of LiteLLM use different places.
 */
function decideFiles(task: RawTask, isJson: boolean, done: (decision: Decision) => void): void {
  const { exchange } = task;
  const query = task.query.filter(({ name }) => !choiceInQuery.has(name));
  const type = exchange.request.headers['content-type'] ?? '';
  const form = hasBody(exchange) ? FormHeadReader.of(type, choiceNames) : undefined;
  if (form !== undefined) {
    readFormHead(exchange, form, ({ fields, rest, removed }) => {
      const selection = selectForFiles(task, {
        models: [...splitList(fields.get('model') ?? ''), ...splitList(fields.get('target_model_names') ?? '')],
        provider: fields.get('custom_llm_provider') ?? null,
      });
      const isNamed = fields.size > 0 || namesInHead(task) !== undefined;
      // If no name has selected one of several accounts, rejects a field that comes later.
      const check = isNamed || hasOneAccount(task.selectionContext) ? undefined : rejectLateFields(type, choiceNames);
      check?.(rest);
      const announced = lengthOf(exchange);
      const length = announced === null ? null : announced - removed;
      const body = { kind: 'streamed', head: rest, length, ...(check === undefined ? {} : { check }) } as const;
      done({ selection, query, streams: false, body });
    });
  } else if (isJson) {
    readWhole(exchange, exchange.proxy.settings.maxRequestBytes, (chunks) => {
      const json = jsonChoice(chunks);
      const models = [...json.texts('model'), ...json.texts('target_model_names')];
      const selection = selectForFiles(task, { models, provider: json.text('custom_llm_provider') ?? null });
      done(bufferedDecision(selection, query, json.without(choiceNames), json.streams));
    });
  } else done(streamedDecision(exchange, { selection: selectForFiles(task, { models: [], provider: null }), query }));
}

/** Selects the deployment of a file. The head has priority: some clients cannot change the body. */
function selectForFiles(task: RawTask, inBody: FilesChoice): Selection {
  return chooseForFiles(namesInHead(task) ?? inBody, task.path, task.selectionContext);
}

/** Returns the names in path, query and headers; undefined: none. */
function namesInHead({ exchange, target, query }: RawTask): FilesChoice | undefined {
  const { headers } = exchange.request;
  const inHeader = headers['custom-llm-provider'];
  const inPath = target.kind === 'files' ? target.provider : null;
  const inQuery = valueIn(query, 'custom_llm_provider', 'provider');
  const models = splitList(valueIn(query, 'model', 'target_model_names') ?? '');
  const nonEmptyHeader = typeof inHeader === 'string' && inHeader !== '' ? inHeader : undefined;
  const provider = inPath ?? nonEmptyHeader ?? inQuery ?? null;
  return models.length > 0 || provider !== null ? { models, provider } : undefined;
}

/**
 * Selects the deployment by the model in the body or in the query, and renames a model in the query.
 * @param model the name in the body, which has priority.
 */
function byModel(
  { target, path, query, selectionContext }: RawTask,
  model?: string,
): Pick<Decision, 'selection' | 'query'> {
  const family = target.kind === 'provider' ? target.family : 'openai';
  const inQuery = valueIn(query, 'model');
  const selection = chooseForProvider(family, model ?? inQuery, path, selectionContext);
  const renames = model === undefined && inQuery !== undefined && inQuery !== selection.upstreamModel;
  return { selection, query: renames ? withValue(query, 'model', selection.upstreamModel) : query };
}

/**
 * Selects the deployment of a WebSocket.
 * @throws {ProxyError} 400: the model is missing or unknown, or the choice is not clear; 403: the key may
 *   not use the model; 404: no such path.
 */
export function decideWebSocket(task: RawTask): Decision {
  const { exchange, target, path, query, selectionContext } = task;
  const { router } = exchange.proxy;
  const key = exchange.client?.key;
  const visible = visibleModels(exchange);
  if (target.kind === 'files' || target.kind === 'response') throw noSuchPath('WebSocket', path);
  const model = valueIn(query, 'model');
  // Without `model`, at `responses` and at a provider's own path, the WebSocket can use models that the
  // proxy does not check. So the proxy rejects keys that are limited to some models.
  const isUnchecked = target.kind === 'provider' || target.rest === 'responses' || model === undefined;
  const restrictedKeyError = isUnchecked ? uncheckedModelFault(exchange) : undefined;
  if (restrictedKeyError !== undefined) throw restrictedKeyError;
  if (target.kind === 'provider') return streamedDecision(exchange, byModel(task));
  if (model === undefined) {
    // OpenAI requires no model for a transcription session (`intent`), or to join an existing Realtime
    // call (`call_id`). OpenAI's SDKs name the model of `responses` only in its events.
    if (target.rest !== 'responses' && valueIn(query, 'intent', 'call_id') === undefined)
      throw missingModel(target.rest, visible);
    const provider = valueIn(query, 'custom_llm_provider', 'provider') ?? null;
    return streamedDecision(exchange, {
      selection: chooseForFiles({ models: [], provider }, path, selectionContext),
      query: query.filter(({ name }) => !choiceInQuery.has(name)),
    });
  }
  const selection = router.select(key?.modelOf(model) ?? model);
  requireModelAccess(key, model, selection?.modelGroup);
  if (selection === undefined) throw noDeploymentFor(model, target.rest, exchange.proxy.settings, visible);
  return streamedDecision(exchange, { selection, query: withValue(query, 'model', selection.upstreamModel) });
}

/** Makes the decision for a request that has no body, or whose body is forwarded unread. */
function streamedDecision(exchange: Exchange, { selection, query }: Pick<Decision, 'selection' | 'query'>): Decision {
  const streams = exchange.request.headers.accept?.includes('text/event-stream') === true;
  if (!hasBody(exchange)) return bufferedDecision(selection, query, [], streams);
  const body = { kind: 'streamed', head: Buffer.alloc(0), length: lengthOf(exchange) } as const;
  return { selection, query, streams, body };
}

/** Makes the decision for a body in memory. */
function bufferedDecision(
  selection: Selection,
  query: readonly QueryPair[],
  chunks: readonly Buffer[],
  streams: boolean,
): Decision {
  return { selection, query, streams, body: { kind: 'buffered', chunks } };
}

/** Returns the length of the body that the client announced; null: it comes in chunks. */
function lengthOf({ request }: Exchange): number | null {
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  return coding !== undefined || length === undefined ? null : Number(length);
}
