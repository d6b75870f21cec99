/**
 * The steps of every request, the same for all resources: OData-Version 412 → origin 403 →
 * authenticate 401/503 → match 404/405 → privilege 403 → query 400/501. Then the operation: load
 * 404, If-Match 412, body 400, the resource's own work, and the answer.
 * See docs/internals/architecture.md.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AnnotateOptions } from './annotate.js';
import { errorAnswer, send, type Answer } from './answer.js';
import { LoginRefused, anonymous, type Authenticate, type Authenticated } from './authenticate.js';
import { preconditionsOf } from './conditions.js';
import { RequestClient, type ChangeListener, type Exchange } from './exchange.js';
import { toRedfishError } from './messages/driver-errors.js';
import { clientGoneError, RedfishError } from './messages/errors.js';
import { message } from './messages/messages.js';
import { checkOriginWithoutLogin, checkOrigin, safeMethods } from './origin.js';
import type { ExpansionLimits } from './query/expansion-budget.js';
import type { View } from './rendering.js';
import type { Resource } from './resource.js';
import type { StreamDefinition } from './stream.js';
import { admit, createTree, type MatchedPath, type ServedWebSockets } from './tree.js';
import { WriteArrivals } from './write/write-arrivals.js';

/** The outcome of a request, for the log and the metrics. */
export interface RequestOutcome {
  /**
   * The matched template, `/redfish/v1/Systems/{systemId}`; `unmatched` if the path has no
   * endpoint.
   */
  readonly route: string;
  readonly status: number;
  readonly user: string | null;
  /** The reason why the login failed, with the user name. Absent unless the login failed. */
  readonly refused?: string;
  /** The failure of the service, for the log only. Absent unless the service failed, or the answer lacks a part. */
  readonly error?: unknown;
  /** The status of the part that the answer lacks, if a client had requested this part. Absent if no part is missing. */
  readonly partStatus?: number;
}

/** Options of the pipeline. */
interface PipelineOptions<Services> extends AnnotateOptions {
  readonly resources: readonly Resource<Services>[];
  /** Default: none. */
  readonly streams?: readonly StreamDefinition<Services>[];
  /** Default: none. */
  readonly webSockets?: ServedWebSockets<Services>;
  readonly services: Services;
  readonly authenticate: Authenticate;
  readonly onChange?: ChangeListener;
  /** Default: every request sees everything. */
  readonly scoping?: Scoping<Services>;
  /**
   * Limits for answers to `$expand` and `$filter`, in total and for each client. Default: those of
   * query/expansion-budget.ts.
   */
  readonly expansion?: Partial<ExpansionLimits>;
}

/** Restricts some requests to one machine, as if this machine were its own service. */
export interface Scoping<Services> {
  /** Returns the UUID of the only visible machine; null: everything is visible. */
  readonly scopeOf: (request: IncomingMessage) => string | null;
  /** Returns the services for one machine; always the same object for a machine. */
  readonly servicesOf: (scope: string) => Services;
}

/** Answers one request. Resolves when the service has begun to send the answer. Never rejects. */
export type Pipeline = (
  request: IncomingMessage,
  response: ServerResponse,
  requestId: string,
) => Promise<RequestOutcome>;

/**
 * Creates the pipeline of a service.
 * @throws {Error} if two resources have the same path.
 */
export function createPipeline<Services>(options: PipelineOptions<Services>): Pipeline {
  const { services, authenticate, scoping } = options;
  const arrivals = new WriteArrivals();
  const everything: View<Services> = { services, scope: null };
  const tree = createTree({
    ...options,
    viewOf: ({ scope }) =>
      scope === null || scoping === undefined ? everything : { services: scoping.servicesOf(scope), scope },
  });

  return async (request, response, requestId) => {
    const { path, query } = split(request.url ?? '/');
    const match = tree.match(path, request.method ?? '');
    let user: string | null = null;
    let answer: Answer;
    let failure: RedfishError | undefined;
    try {
      checkODataVersion(request);
      checkOrigin(request);
      // Read the scope first: the socket loses its address if the client disconnects during the
      // login.
      const scope = scoping === undefined ? null : scoping.scopeOf(request);
      const held = isHeld(request, match) ? arrivals.hold() : undefined;
      if (held !== undefined) await untilReleased(held, request);
      const identity = await identify(request, match, query, authenticate);
      user = identity.user;
      if (user === null && identity !== anonymous) checkOriginWithoutLogin(request);
      const preconditions = preconditionsOf(request);
      const exchangeOf = (client: Authenticated): Exchange => {
        const requester = new RequestClient(client, requestId, request, response);
        return {
          request,
          path,
          preconditions,
          query,
          requester,
          identity: client,
          scope,
          patchable: null,
          reauthorize,
        };
      };
      const reauthorize = async (): Promise<Exchange> => {
        const renewed = exchangeOf(identity === anonymous ? identity : await logIn(request, authenticate));
        return match === undefined ? renewed : admit(match, renewed, request.method ?? '');
      };
      answer = await tree.operate(match, exchangeOf(identity));
    } catch (error) {
      failure = toRedfishError(error, { path });
      answer = errorAnswer(failure);
    }
    send(response, answer, requestId);
    const { partFailure } = answer;
    return {
      route: match?.target.route ?? 'unmatched',
      status: answer.status,
      user,
      ...(failure instanceof LoginRefused ? { refused: failure.refused } : {}),
      ...(isServiceFailure(answer.status) && !(failure instanceof LoginRefused)
        ? { error: failure?.cause ?? failure }
        : {}),
      ...(partFailure === undefined ? {} : { error: partFailure.cause ?? partFailure, partStatus: partFailure.status }),
    };
  };
}

/** Returns whether a request may wait before its login: a write that needs a login, or that matches no path. */
function isHeld({ method = '' }: IncomingMessage, match: MatchedPath | undefined): boolean {
  return !safeMethods.has(method) && match?.target.methodsWithoutLogin.has(method) !== true;
}

/** Waits until a held write may continue. @throws {RedfishError} 499, if its client has disconnected. */
async function untilReleased(held: Promise<void>, { socket }: IncomingMessage): Promise<void> {
  await held;
  if (socket.destroyed) throw clientGoneError();
}

/**
 * Returns the client of a request. For a request that needs no login, returns {@link anonymous} if there is
 * no query, or if there are no credentials and the service requires a login.
 * @throws {LoginRefused} 401, 503.
 * @throws {StoreUnavailable} if the shared store of the replicas does not answer.
 */
async function identify(
  request: IncomingMessage,
  match: MatchedPath | undefined,
  query: string | undefined,
  authenticate: Authenticate,
): Promise<Authenticated> {
  if (match?.target.methodsWithoutLogin.has(request.method ?? '') !== true) return logIn(request, authenticate);
  // A query may read resources that need a login, so it needs the identity of the client.
  if (query === undefined) return anonymous;
  const result = await authenticate(request);
  if (!('refused' in result)) return result;
  if (isAnonymous(request)) return anonymous;
  throw new LoginRefused(result);
}

/** Returns the client of a request that needs a login. @throws as {@link identify}. */
async function logIn(request: IncomingMessage, authenticate: Authenticate): Promise<Authenticated> {
  const result = await authenticate(request);
  if ('refused' in result) throw new LoginRefused(result);
  return result;
}

/**
 * Returns whether a status reports a failure of the service. 501 does not: the client requested a
 * feature that the service lacks.
 */
function isServiceFailure(status: number): boolean {
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
 * Rejects an OData-Version other than 4.0, because such a client could misread the answer (DSP0266,
 * request headers).
 */
function checkODataVersion({ headers }: IncomingMessage): void {
  const version = headers['odata-version'];
  if (version !== undefined && version !== '4.0')
    throw new RedfishError(412, [message('HeaderInvalid', 'OData-Version')]);
}
