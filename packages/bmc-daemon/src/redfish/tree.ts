/** The served paths, and the operation of each method. */
import type { AnnotateOptions } from './annotate.js';
import { emptyAnswer, type Answer } from './answer.js';
import { createBodyReader } from './body/body.js';
import { unconditional } from './conditions.js';
import { createDocuments } from './documents/documents.js';
import {
  documentEndpoint,
  methodNotAllowed,
  resourceEndpoints,
  streamEndpoint,
  webSocketEndpoint,
  type Endpoint,
} from './endpoint.js';
import type { ChangeListener, Exchange } from './exchange.js';
import { redfishError } from './messages/errors.js';
import { answerQuery, checkQuery, type QueryReading } from './query/answer.js';
import { ExpansionBudget, type ExpansionLimits } from './query/expansion-budget.js';
import { parseQuery } from './query/parse.js';
import type { View } from './rendering.js';
import type { Awaitable, Resource } from './resource.js';
import { createRouter, type Match } from './router.js';
import type { StreamDefinition } from './stream.js';
import { Uploads } from './upload/uploads.js';
import type { WebSocketDefinition } from './web-socket.js';
import type { WebSockets } from './web-sockets/web-sockets.js';
import { WriteTurns } from './write/write-turns.js';

/** The WebSockets of a service. */
export interface ServedWebSockets<Services> {
  readonly definitions: readonly WebSocketDefinition<Services>[];
  /** The open WebSockets. */
  readonly sockets: WebSockets;
}

/** The resources of a tree and their options. */
interface TreeOptions<Services> extends AnnotateOptions {
  readonly resources: readonly Resource<Services>[];
  /** Default: none. */
  readonly streams?: readonly StreamDefinition<Services>[];
  /** Default: none. */
  readonly webSockets?: ServedWebSockets<Services>;
  /** Returns the part of the service that a request sees. */
  readonly viewOf: (exchange: Exchange) => View<Services>;
  readonly onChange?: ChangeListener;
  /**
   * Limits for answers to `$expand` and `$filter`, in total and for each client. Default: those of
   * query/expansion-budget.ts.
   */
  readonly expansion?: Partial<ExpansionLimits>;
}

/** A path with its endpoint. */
export type MatchedPath = Match<Endpoint>;

/** The served paths. */
interface Tree {
  /**
   * Returns the endpoint of a path, preferably one with the given method; undefined if the path has
   * no endpoint.
   */
  match(path: string, method: string): MatchedPath | undefined;
  /**
   * Checks the privileges for a request, and runs the operation of its path and method.
   * @throws {RedfishError} an error of the client, for example 403, 404, 405 or 412.
   * @throws {DriverError} an error of the hypervisor.
   */
  operate(match: MatchedPath | undefined, exchange: Exchange): Awaitable<Answer>;
}

/**
 * Creates the endpoints of all resources, documents, streams and WebSockets.
 * @throws {Error} if two resources have the same path.
 */
export function createTree<Services>(options: TreeOptions<Services>): Tree {
  const { resources, streams = [], webSockets, viewOf, strict, currentUri, onChange, expansion } = options;
  const match = (path: string, method: string): MatchedPath | undefined =>
    // A path may match two templates: a POST to `…/Accounts/Members` creates an account, and an account
    // may have the name Members. The endpoint with the method has precedence.
    router.match(path, ({ operations }) => operations.has(method));
  // Reads without the conditions of the request, which apply only to the requested resource.
  const read = (uri: string, exchange: Exchange): Awaitable<Answer> =>
    get(match(uri, 'GET'), uri, { ...exchange, preconditions: unconditional });
  const isServed = (path: string): boolean => match(path, 'GET')?.target.operations.has('GET') === true;
  const readBody = createBodyReader();
  const writeTurns = new WriteTurns();
  const uploads = new Uploads();
  const router = createRouter<Endpoint>([
    ...createDocuments(resources).map(documentEndpoint),
    ...resources.flatMap((resource) =>
      resourceEndpoints(resource, {
        viewOf,
        strict,
        currentUri,
        read,
        readBody,
        writeTurns,
        uploads,
        isServed,
        ...(onChange === undefined ? {} : { onChange }),
      }),
    ),
    ...streams.map((stream) => streamEndpoint(stream, { viewOf })),
    ...webSocketEndpoints(webSockets, viewOf),
  ]);
  const budget = new ExpansionBudget(expansion);
  return {
    match,
    operate: (matched, exchange) => operate(matched, exchange, () => readingOf(exchange, match, budget)),
  };
}

function webSocketEndpoints<Services>(
  webSockets: ServedWebSockets<Services> | undefined,
  viewOf: TreeOptions<Services>['viewOf'],
) {
  if (webSockets === undefined) return [];
  const { definitions, sockets } = webSockets;
  return definitions.map((definition) => webSocketEndpoint(definition, { viewOf, sockets }));
}

/** Runs the operation for the path and the method. */
function operate(matched: MatchedPath | undefined, exchange: Exchange, reading: () => QueryReading): Awaitable<Answer> {
  if (matched === undefined) throw redfishError('ResourceMissingAtURI', exchange.path);
  const { target, params } = matched;
  const method = exchange.request.method ?? '';
  const operation = target.operations.get(method);
  if (operation === undefined) {
    if (method === 'OPTIONS') return emptyAnswer(204, { Allow: target.allow });
    throw methodNotAllowed(target);
  }
  const admitted = admit(matched, exchange, method);
  const query = exchange.query === undefined ? undefined : parseQuery(exchange.query, target.ownQuery);
  if (query === undefined) return operation(admitted, params);
  checkQuery(target, query, method);
  return answerQuery(target, params, query, admitted, reading());
}

/** Returns the access of a query to other resources. Each read checks the privileges, as a separate request does. */
function readingOf(exchange: Exchange, match: Tree['match'], budget: ExpansionBudget): QueryReading {
  return {
    get: async (uri) => {
      const matched = match(uri, 'GET');
      return get(matched, uri, matched === undefined ? exchange : admit(matched, exchange, 'GET'));
    },
    read: async (uri) => {
      const matched = match(uri, 'GET');
      if (matched?.target.load === undefined) return undefined;
      return (await matched.target.load(admit(matched, exchange, 'GET'), matched.params)).body;
    },
    budget,
  };
}

function get(matched: MatchedPath | undefined, uri: string, exchange: Exchange): Awaitable<Answer> {
  const operation = matched?.target.operations.get('GET');
  if (matched === undefined || operation === undefined)
    throw new Error(`reading ${uri} for an answer: there is no such resource`);
  return operation(exchange, matched.params);
}

/**
 * Checks the privileges for a method of a path. Runs for the request itself and for every resource
 * that its query reads.
 * @returns the exchange. If the client may change only some properties, it contains them as `patchable`.
 * @throws {RedfishError} 403.
 */
export function admit({ target, params }: MatchedPath, exchange: Exchange, method: string): Exchange {
  if (target.guard === undefined || target.methodsWithoutLogin.has(method)) return exchange;
  const patchable = target.guard(exchange.identity, method, () => target.isOwn(exchange, params));
  return patchable === null ? exchange : { ...exchange, patchable };
}
