/**
 * The steps of every request, the same for all resources: OData-Version 412 → authenticate 401 →
 * match 404/405 → privilege 403 → query 400/501. Then the operation: load 404, If-Match 412, body
 * 400, the resource's own work, and the answer.
 * See docs/internals/architecture.md.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AnnotateOptions } from './annotate.js';
import { errorAnswer, emptyAnswer, send, type Answer } from './answer.js';
import { LoginRefused, stranger, type Authenticate, type Authenticated } from './authenticate.js';
import { createBodyReader } from './body/body.js';
import { preconditionsOf, unconditional } from './conditions.js';
import { createDocuments } from './documents/documents.js';
import { toRedfishError } from './messages/driver-errors.js';
import { documentEndpoint, methodNotAllowed, resourceEndpoints, streamEndpoint, type Endpoint } from './endpoint.js';
import { RedfishError, refuse } from './messages/errors.js';
import { RequestRequester, type ChangeListener, type Exchange } from './exchange.js';
import type { JsonObject } from './json.js';
import { message } from './messages/messages.js';
import { answerQuery, checkQueried, emptyQuery, pageOf } from './query/answer.js';
import { ExpansionBudget, type ExpansionLimits } from './query/expansion-budget.js';
import { parseQuery } from './query/parse.js';
import type { View } from './rendering.js';
import type { Awaitable, Resource } from './resource.js';
import { checkOpenOrigin, checkOrigin } from './origin.js';
import { createRouter, type Match } from './router.js';
import type { StreamDefinition } from './stream.js';

/** The outcome of a request, for the log and the metrics. */
export interface Outcome {
  /**
   * The matched template, `/redfish/v1/Systems/{systemId}`; `unmatched` if no resource has the
   * path.
   */
  readonly route: string;
  readonly status: number;
  readonly user: string | null;
  /** Why the login failed, with the user name. */
  readonly refused?: string;
  /** The failure of the service, for the log only. */
  readonly error?: unknown;
}

/** Options of the pipeline. */
export interface PipelineOptions<Services> extends AnnotateOptions {
  readonly resources: readonly Resource<Services>[];
  /** Default: none. */
  readonly streams?: readonly StreamDefinition<Services>[];
  readonly services: Services;
  readonly authenticate: Authenticate;
  /** Called after every successful write. */
  readonly onChange?: ChangeListener;
  /** Default: every request sees everything. */
  readonly scoping?: Scoping<Services>;
  /** Limits for all answers to `$expand` and `$filter` together. Default: {@link expansionLimits}. */
  readonly expansion?: Partial<ExpansionLimits>;
}

/** Restricts some requests to one machine, as if this machine were its own service. */
export interface Scoping<Services> {
  /** Returns the UUID of the only visible machine; null: everything is visible. */
  readonly scopeOf: (request: IncomingMessage) => string | null;
  /** Returns the services for one machine; always the same object for a machine. */
  readonly servicesOf: (scope: string) => Services;
}

/** How a query reads other resources. */
interface Reading {
  readonly get: (uri: string, exchange: Exchange) => Promise<Answer>;
  readonly show: (uri: string, exchange: Exchange) => Promise<JsonObject | undefined>;
  readonly budget: ExpansionBudget;
}

/** Answers one request. Resolves when the socket has the answer. Never rejects. */
export type Pipeline = (request: IncomingMessage, response: ServerResponse, requestId: string) => Promise<Outcome>;

/**
 * Creates the pipeline of a service.
 * @throws {Error} if two resources have the same path.
 */
export function createPipeline<Services>(options: PipelineOptions<Services>): Pipeline {
  const { resources, streams = [], services, authenticate, strict, currentUri, onChange, scoping, expansion } = options;
  const whole: View<Services> = { services, scope: null };
  const viewOf = ({ scope }: Exchange): View<Services> =>
    scope === null || scoping === undefined ? whole : { services: scoping.servicesOf(scope), scope };
  const get = (uri: string, exchange: Exchange): Awaitable<Answer> => {
    const match = router.match(uri, serves('GET'));
    const operation = match?.target.operations.get('GET');
    if (match === undefined || operation === undefined)
      throw new Error(`reading ${uri} for an answer: there is no such resource`);
    return operation(exchange, match.params);
  };
  // The write has finished, and its conditions applied to the changed resource only.
  const read = (uri: string, exchange: Exchange): Awaitable<Answer> =>
    get(uri, { ...exchange, preconditions: unconditional });
  const isServed = (path: string): boolean => router.match(path, serves('GET'))?.target.operations.has('GET') === true;
  const reading: Reading = {
    // With the same privilege check as a separate request.
    get: async (uri, exchange) => {
      const match = router.match(uri, serves('GET'));
      return get(uri, match === undefined ? exchange : admit(match, exchange, 'GET'));
    },
    show: async (uri, exchange) => {
      const match = router.match(uri, serves('GET'));
      if (match?.target.show === undefined) return undefined;
      const { body } = await match.target.show(admit(match, exchange, 'GET'), match.params);
      return pageOf(body, emptyQuery, match.target.pageSize);
    },
    budget: new ExpansionBudget(expansion),
  };
  const readBody = createBodyReader();
  const router = createRouter<Endpoint>([
    ...createDocuments(resources).map(documentEndpoint),
    ...resources.flatMap((resource) =>
      resourceEndpoints(resource, {
        viewOf,
        strict,
        currentUri,
        read,
        readBody,
        isServed,
        ...(onChange === undefined ? {} : { onChange }),
      }),
    ),
    ...streams.map((stream) => streamEndpoint(stream, { viewOf })),
  ]);

  return async (request, response, requestId) => {
    const { path, query } = split(request.url ?? '/');
    const match = router.match(path, serves(request.method ?? ''));
    let user: string | null = null;
    let answer: Answer;
    let failure: RedfishError | undefined;
    try {
      checkODataVersion(request);
      checkOrigin(request);
      // Read the scope first: the socket loses its address if the client disconnects during the
      // login.
      const scope = scoping === undefined ? null : scoping.scopeOf(request);
      const isOpen = match?.target.open.has(request.method ?? '') === true;
      // A query may read resources that need a login.
      const known = isOpen && query === undefined ? stranger : await authenticate(request);
      const who = isOpen && 'refused' in known && isAnonymous(request) ? stranger : known;
      if ('refused' in who) throw new LoginRefused(who);
      user = who.user;
      if (user === null && who !== stranger) checkOpenOrigin(request);
      const preconditions = preconditionsOf(request);
      const exchangeOf = (client: Authenticated): Exchange => {
        const requester = new RequestRequester(client, requestId, request, response);
        return { request, path, preconditions, query, requester, who: client, scope, patchable: null, reauthorize };
      };
      const reauthorize = async (): Promise<Exchange> => {
        const current = who === stranger ? who : await authenticate(request);
        if ('refused' in current) throw new LoginRefused(current);
        const renewed = exchangeOf(current);
        return match === undefined ? renewed : admit(match, renewed, request.method ?? '');
      };
      const exchange = exchangeOf(who);
      answer = await operate(match, reading, exchange);
    } catch (error) {
      failure = toRedfishError(error, { path });
      answer = errorAnswer(failure);
    }
    send(response, answer, requestId);
    return {
      route: match?.target.route ?? 'unmatched',
      status: answer.status,
      user,
      ...(failure instanceof LoginRefused ? { refused: failure.refused } : {}),
      ...(isTrouble(answer.status) && !(failure instanceof LoginRefused) ? { error: failure?.cause ?? failure } : {}),
    };
  };
}

/** Selects an endpoint by method, because a path may match two endpoints. */
const serves =
  (method: string) =>
  ({ operations }: Endpoint): boolean =>
    operations.has(method);

/**
 * Whether a status reports a failure of the service. 501 does not: the client asked for a feature
 * that the service lacks.
 */
function isTrouble(status: number): boolean {
  return status >= 500 && status !== 501;
}

function split(url: string): { readonly path: string; readonly query: string | undefined } {
  const mark = url.indexOf('?');
  return mark === -1 ? { path: url, query: undefined } : { path: url.slice(0, mark), query: url.slice(mark + 1) };
}

function isAnonymous({ headers }: IncomingMessage): boolean {
  return headers.authorization === undefined && headers['x-auth-token'] === undefined;
}

/**
 * Rejects another protocol version: such a client must not misread the answer (DSP0266, request
 * headers).
 */
function checkODataVersion({ headers }: IncomingMessage): void {
  const version = headers['odata-version'];
  if (version !== undefined && version !== '4.0')
    throw new RedfishError(412, [message('HeaderInvalid', 'OData-Version')]);
}

/** Runs the operation for the path and the method. */
function operate(match: Match<Endpoint> | undefined, reading: Reading, exchange: Exchange): Awaitable<Answer> {
  if (match === undefined) throw refuse('ResourceMissingAtURI', exchange.path);
  const { target, params } = match;
  const method = exchange.request.method ?? '';
  const operation = target.operations.get(method);
  if (operation === undefined) {
    if (method === 'OPTIONS') return emptyAnswer(204, { Allow: target.allow });
    throw methodNotAllowed(target);
  }
  const admitted = admit(match, exchange, method);
  const query = exchange.query === undefined ? undefined : parseQuery(exchange.query, target.ownQuery);
  if (query !== undefined) checkQueried(target, query, method);
  // A paged collection goes through the query code, even without a query.
  else if (target.pageSize === undefined || operation !== target.operations.get('GET'))
    return operation(admitted, params);
  return answerQuery(target, params, query ?? emptyQuery, admitted, {
    read: (uri) => reading.show(uri, exchange),
    get: (uri) => reading.get(uri, exchange),
    budget: reading.budget,
  });
}

/**
 * Checks the privileges for a request, and for every resource that its query reads.
 * @throws {RedfishError} 403.
 */
function admit({ target, params }: Match<Endpoint>, exchange: Exchange, method: string): Exchange {
  if (target.guard === undefined || target.open.has(method)) return exchange;
  const patchable = target.guard(exchange.who, method, () => target.isOwn(exchange, params));
  return patchable === null ? exchange : { ...exchange, patchable };
}
