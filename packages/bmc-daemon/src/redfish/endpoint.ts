/**
 * Creates the endpoints of resources, documents, streams and WebSockets: the operation of each
 * method of a path.
 */
import { bytesAnswer, emptyAnswer, streamAnswer } from './answer.js';
import { guardOf, type Guard } from './authorize.js';
import { ifMatchHolds, ifNoneMatchMatches } from './conditions.js';
import type { Document } from './documents/documents.js';
import type { Exchange } from './exchange.js';
import type { JsonObject } from './json.js';
import { RedfishError, redfishError } from './messages/errors.js';
import { message } from './messages/messages.js';
import { createRenderer, type Renderer } from './rendering.js';
import { actionUri, type Awaitable, type Params, type Resource, type ResourceRequest } from './resource.js';
import { accepts, type StreamDefinition } from './stream.js';
import type { EndpointOptions, Operation } from './operation.js';
import { uploadEndpoints } from './upload/upload-endpoints.js';
import type { WebSocketDefinition } from './web-socket.js';
import { checkHandshake } from './web-sockets/handshake.js';
import type { WebSockets } from './web-sockets/web-sockets.js';
import { actionOperation, writeOperations } from './write/write.js';

/** A resource as an object, to which a query ($filter, $expand, …) is applied. */
interface LoadedResource {
  readonly body: JsonObject;
  /** Returns the resource's own ETag. Called only if the answer carries it. */
  readonly etag: () => string;
  /** The resource's headers: Allow, Link. */
  readonly headers: Readonly<Record<string, string>>;
}

/** One path with its methods. */
export interface Endpoint {
  /** The URI template, for metrics. */
  readonly route: string;
  /** Methods that need no login. */
  readonly methodsWithoutLogin: ReadonlySet<string>;
  /** Absent for a document, which everyone may read. */
  readonly guard?: Guard;
  /** Whether the resource is the client's own, for the guard. */
  readonly isOwn: (exchange: Exchange, params: Params) => boolean;
  /** Value of the Allow header. */
  readonly allow: string;
  /** Operations by method. HEAD runs the GET operation; Node does not send its body. */
  readonly operations: ReadonlyMap<string, Operation>;
  /**
   * Loads the resource as an object. Absent if the endpoint supports no query, for example a document,
   * action, attachment, upload, stream, WebSocket or task monitor.
   */
  readonly load?: (exchange: Exchange, params: Params) => Awaitable<LoadedResource>;
  readonly isCollection: boolean;
  /** Query parameters with `$` that the operations read themselves. */
  readonly ownQuery?: readonly string[];
}

/** A path template and its endpoint. */
interface PathEndpoint {
  readonly template: string;
  readonly target: Endpoint;
}

const readMethods: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const noMethods: ReadonlySet<string> = new Set();

/**
 * Returns the endpoints of a resource, at its URI and at each alias: the resource, `Members`, the
 * attachment, the uploads and the actions.
 */
export function resourceEndpoints<Services>(
  resource: Resource<Services>,
  options: EndpointOptions<Services>,
): readonly PathEndpoint[] {
  const writes = writesOf(resource);
  const allow = ['GET', 'HEAD', ...writes].join(', ');
  const renderer = createRenderer(resource, { ...options, allow });
  const get = getOperation(resource, renderer, options);
  const guard = guardOf(resource.entity, resource.uri);
  const isOwn = (exchange: Exchange, params: Params): boolean =>
    resource.isOwn?.({ params, services: options.viewOf(exchange).services, requester: exchange.requester }) ?? false;
  const own: Endpoint = {
    route: resource.uri,
    methodsWithoutLogin: new Set([
      ...(resource.needsNoLogin === true ? readMethods : []),
      ...(resource.post?.needsNoLogin === true ? ['POST'] : []),
    ]),
    guard,
    isOwn,
    allow,
    operations: new Map([['GET', get], ['HEAD', get], ...writeOperations(resource, renderer, options)]),
    // A resource that chooses its status (a task monitor) does not support queries.
    ...(resource.status === undefined ? { load: loadOperation(resource, renderer, options) } : {}),
    isCollection: resource.odataType.endsWith('Collection'),
  };
  const actions = Object.entries(resource.actions ?? {}).map(([name, action]) => ({
    name,
    target: {
      route: actionUri(resource.uri, name),
      methodsWithoutLogin: noMethods,
      guard,
      isOwn,
      allow: 'POST',
      operations: new Map([['POST', actionOperation(resource, renderer, name, action, options)]]),
      isCollection: false,
    } satisfies Endpoint,
  }));
  return [resource.uri, ...(resource.aliases ?? [])].flatMap((template) => [
    { template, target: own },
    ...(resource.attachment === undefined
      ? []
      : [{ template: `${template}/attachment`, target: attachmentEndpoint(resource, own, options) }]),
    ...uploadEndpoints(resource, template, { guard, isOwn }, options),
    // DSP0266, POST (create): a POST to `Members` of a collection also creates a member.
    ...(resource.post === undefined ? [] : [{ template: `${template}/Members`, target: postOnly(own) }]),
    ...actions.map(({ name, target }) => ({ template: actionUri(template, name), target })),
  ]);
}

function postOnly({ route, methodsWithoutLogin, guard, isOwn, operations }: Endpoint): Endpoint {
  const post = [...operations].filter(([method]) => method === 'POST');
  const target = { route, methodsWithoutLogin, isOwn, allow: 'POST', operations: new Map(post), isCollection: false };
  return guard === undefined ? target : { ...target, guard };
}

/**
 * Returns the endpoint of a resource's attachment; it needs the same privileges as the resource.
 */
function attachmentEndpoint<Services>(
  resource: Resource<Services>,
  { guard, isOwn }: Endpoint,
  { viewOf }: EndpointOptions<Services>,
): Endpoint {
  const allow = 'GET, HEAD';
  const get: Operation = async (exchange, params) => {
    const request = { params, services: viewOf(exchange).services, requester: exchange.requester };
    const attachment = await resource.attachment?.(await resource.load(request), request);
    if (attachment === undefined) throw redfishError('ResourceMissingAtURI', exchange.path);
    const { bytes, contentType, fileName } = attachment;
    return bytesAnswer(bytes, contentType, {
      Allow: allow,
      // A browser must save the file. Shown as a page of this service, a hostile file could send
      // requests with the user's credentials.
      'Content-Disposition': `attachment; filename="${fileName.replace(/[^\w.-]/g, '_')}"`,
      'X-Content-Type-Options': 'nosniff',
    });
  };
  return {
    route: `${resource.uri}/attachment`,
    methodsWithoutLogin: noMethods,
    ...(guard === undefined ? {} : { guard }),
    isOwn,
    allow,
    operations: new Map([
      ['GET', get],
      ['HEAD', get],
    ]),
    isCollection: false,
  };
}

/** Returns the methods that change a resource, in the order of Allow. */
function writesOf<Services>(resource: Resource<Services>): readonly string[] {
  return [
    ...(resource.post === undefined ? [] : ['POST']),
    ...(resource.patch === undefined ? [] : ['PATCH']),
    ...('delete' in resource ? ['DELETE'] : []),
  ];
}

/** Returns the endpoint of a document: a constant answer for everyone. */
export function documentEndpoint({ path, answer }: Document): PathEndpoint {
  const get: Operation = () => answer;
  return {
    template: path,
    target: {
      route: path,
      methodsWithoutLogin: readMethods,
      isOwn: () => false,
      allow: 'GET, HEAD',
      operations: new Map([
        ['GET', get],
        ['HEAD', get],
      ]),
      isCollection: false,
    },
  };
}

/** Returns the endpoint of a stream. */
export function streamEndpoint<Services>(
  stream: StreamDefinition<Services>,
  { viewOf }: Pick<EndpointOptions<Services>, 'viewOf'>,
): PathEndpoint {
  const get: Operation = async (exchange) => {
    const { request, requester, query = '' } = exchange;
    const { services } = viewOf(exchange);
    if (!accepts(request.headers.accept, stream.contentType)) {
      throw new RedfishError(406, [message('HeaderInvalid', 'Accept')]);
    }
    const { headers } = request;
    const { address } = requester;
    const peer = `${address.includes(':') ? `[${address}]` : address}:${request.socket.remotePort ?? 0}`;
    const source = await stream.open({ services, requester, peer, headers, query: new URLSearchParams(query) });
    return streamAnswer(source, stream.contentType, { Allow: 'GET' });
  };
  return {
    template: stream.uri,
    target: {
      route: stream.uri,
      methodsWithoutLogin: noMethods,
      guard: guardOf(stream.entity, stream.uri),
      isOwn: () => false,
      allow: 'GET',
      operations: new Map([['GET', get]]),
      isCollection: false,
      ownQuery: stream.query ?? [],
    },
  };
}

/** Returns the endpoint of a WebSocket. */
export function webSocketEndpoint<Services>(
  webSocket: WebSocketDefinition<Services>,
  { viewOf, sockets }: Pick<EndpointOptions<Services>, 'viewOf'> & { readonly sockets: WebSockets },
): PathEndpoint {
  const { uri, entity, privilegesOf, maxPerMachine } = webSocket;
  const guardOfMethod = guardOf(entity, uri);
  const guard: Guard = (identity, _method, isOwn) => guardOfMethod(identity, privilegesOf, isOwn);
  const get: Operation = async (exchange, params) => {
    checkHandshake(exchange.request);
    const { services } = viewOf(exchange);
    const { requester } = exchange;
    return sockets.answer(exchange, { route: uri, guard, maxPerMachine }, () =>
      webSocket.open({ params, services, requester }),
    );
  };
  return {
    template: uri,
    target: {
      route: uri,
      methodsWithoutLogin: noMethods,
      guard,
      isOwn: () => false,
      allow: 'GET',
      operations: new Map([['GET', get]]),
      isCollection: false,
    },
  };
}

function getOperation<Services>(
  resource: Resource<Services>,
  renderer: Renderer<Services>,
  { viewOf }: EndpointOptions<Services>,
): Operation {
  return async (exchange, params) => {
    const { preconditions, requester } = exchange;
    const view = viewOf(exchange);
    const entity = await resource.load({ params, services: view.services, requester });
    const answer = renderer.answer(entity, params, view);
    const { ifMatch, ifNoneMatch } = preconditions;
    if ((ifMatch === undefined && ifNoneMatch === undefined) || answer.status !== 200) return answer;
    const etag = renderer.etag(entity, params, view);
    if (ifMatch !== undefined && !ifMatchHolds(ifMatch, etag)) throw redfishError('PreconditionFailed');
    return ifNoneMatch !== undefined && ifNoneMatchMatches(ifNoneMatch, etag)
      ? emptyAnswer(304, { ETag: etag })
      : answer;
  };
}

function loadOperation<Services>(
  resource: Resource<Services>,
  renderer: Renderer<Services>,
  { viewOf }: EndpointOptions<Services>,
): (exchange: Exchange, params: Params) => Promise<LoadedResource> {
  return async (exchange, params) => {
    const view = viewOf(exchange);
    const request: ResourceRequest<Services, Params> = {
      params,
      services: view.services,
      requester: exchange.requester,
    };
    const entity = await resource.load(request);
    return {
      body: renderer.body(entity, params, view),
      etag: () => renderer.etag(entity, params, view),
      headers: renderer.headers,
    };
  };
}

/** Returns a 405 with the supported methods (RFC 9110 §15.5.6). */
export function methodNotAllowed({ allow }: Pick<Endpoint, 'allow'>): RedfishError {
  return new RedfishError(405, [message('OperationNotAllowed')], { Allow: allow });
}
