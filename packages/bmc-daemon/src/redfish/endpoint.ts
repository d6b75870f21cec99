/** What a path does for each method, worked out from the resource, document or stream that declares it. */
import type { AnnotateOptions } from './annotate.js';
import { bytesAnswer, emptyAnswer, streamAnswer, type Answer } from './answer.js';
import { guardOf, type Guard } from './authorize.js';
import type { ReadBody } from './body.js';
import { ifMatchHolds, ifNoneMatchHolds } from './conditions.js';
import type { Document } from './documents.js';
import { RedfishError, refuse } from './errors.js';
import type { ChangeListener, Exchange } from './exchange.js';
import type { JsonObject } from './json.js';
import { message } from './messages.js';
import { actionUri, createRenderer, type Renderer, type View } from './rendering.js';
import type { Awaitable, Params, Resource, ResourceRequest } from './resource.js';
import { accepts, type StreamDefinition } from './stream.js';
import { actionOperation, writeOperations } from './write.js';

/** What one method does at one path. */
export type Operation = (exchange: Exchange, params: Params) => Awaitable<Answer>;

/** A resource as an object, for queries to work on. */
export interface Shown {
  readonly body: JsonObject;
  /** Asked for where the answer has the resource's own ETag. */
  readonly etag: () => string;
  /** Headers of the resource: Allow, Link. */
  readonly headers: Readonly<Record<string, string>>;
}

/** One path with its methods. */
export interface Endpoint {
  /** The template, for metrics. */
  readonly route: string;
  /** Methods that need no credentials. */
  readonly open: ReadonlySet<string>;
  /** Absent: a document, for everybody. */
  readonly guard?: Guard;
  /** Whether it is the requester's own, for the guard. */
  readonly isOwn: (exchange: Exchange, params: Params) => boolean;
  /** Value of the Allow header. */
  readonly allow: string;
  /** By method. HEAD is GET; send() leaves the body out. */
  readonly operations: ReadonlyMap<string, Operation>;
  /** What queries work on; absent where there is nothing to query: documents, actions, monitors. */
  readonly show?: (exchange: Exchange, params: Params) => Awaitable<Shown>;
  readonly isCollection: boolean;
  /** Members that one answer shows at most; what is left is behind a link. */
  readonly pageSize?: number;
  /** Parameters of the protocol that the operations read by themselves. */
  readonly ownQuery?: readonly string[];
}

export interface EndpointOptions<Services> extends AnnotateOptions {
  /** What a request sees. */
  readonly viewOf: (exchange: Exchange) => View<Services>;
  /** The answer to a GET of another resource without preconditions, for the body of a 200, 201 or 202. */
  readonly read: (uri: string, exchange: Exchange) => Awaitable<Answer>;
  readonly readBody: ReadBody;
  /** Told of every write that was carried out. */
  readonly onChange?: ChangeListener;
  /** Whether there is a resource at a path. */
  readonly isServed: (path: string) => boolean;
}

/** A path and what it does. */
export interface Served {
  readonly template: string;
  readonly target: Endpoint;
}

const reading: ReadonlySet<string> = new Set(['GET', 'HEAD']);
const nothing: ReadonlySet<string> = new Set();

/** The paths of one resource: its own, its aliases', and one for each action under each of them. */
export function resourceEndpoints<Services>(
  resource: Resource<Services>,
  options: EndpointOptions<Services>,
): readonly Served[] {
  const writes = writesOf(resource);
  const allow = ['GET', 'HEAD', ...writes].join(', ');
  const renderer = createRenderer(resource, { ...options, allow });
  const get = getOperation(resource, renderer, options);
  const guard = guardOf(resource.entity, resource.uri);
  const isOwn = (exchange: Exchange, params: Params): boolean =>
    resource.isOwn?.({ params, services: options.viewOf(exchange).services, requester: exchange.requester }) ?? false;
  const own: Endpoint = {
    route: resource.uri,
    open: new Set([...(resource.open === true ? reading : []), ...(resource.post?.open === true ? ['POST'] : [])]),
    guard,
    isOwn,
    allow,
    operations: new Map([['GET', get], ['HEAD', get], ...writeOperations(resource, renderer, options)]),
    // A resource that chooses its status (a monitor) is no plain resource to select from.
    ...(resource.status === undefined ? { show: showOperation(resource, renderer, options) } : {}),
    isCollection: resource.odataType.endsWith('Collection'),
    ...(resource.pageSize === undefined ? {} : { pageSize: resource.pageSize }),
  };
  const actions = Object.entries(resource.actions ?? {}).map(([name, action]) => ({
    name,
    target: {
      route: actionUri(resource.uri, name),
      open: nothing,
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
    // DSP0266, POST (create): the Members of a collection take what the collection takes.
    ...(resource.post === undefined ? [] : [{ template: `${template}/Members`, target: postAlone(own) }]),
    ...actions.map(({ name, target }) => ({ template: actionUri(template, name), target })),
  ]);
}

function postAlone({ route, open, guard, isOwn, operations }: Endpoint): Endpoint {
  const post = [...operations].filter(([method]) => method === 'POST');
  const target = { route, open, isOwn, allow: 'POST', operations: new Map(post), isCollection: false };
  return guard === undefined ? target : { ...target, guard };
}

/** The path of what is attached to a resource: for whoever may read the resource. */
function attachmentEndpoint<Services>(
  resource: Resource<Services>,
  { guard, isOwn }: Endpoint,
  { viewOf }: EndpointOptions<Services>,
): Endpoint {
  const allow = 'GET, HEAD';
  const get: Operation = async (exchange, params) => {
    const request = { params, services: viewOf(exchange).services, requester: exchange.requester };
    const attachment = await resource.attachment?.(await resource.load(request), request);
    if (attachment === undefined) throw refuse('ResourceMissingAtURI', exchange.path);
    const { bytes, contentType, fileName } = attachment;
    return bytesAnswer(bytes, contentType, {
      Allow: allow,
      // Whoever made it may have meant a browser to take it for a page of ours.
      'Content-Disposition': `attachment; filename="${fileName.replace(/[^\w.-]/g, '_')}"`,
      'X-Content-Type-Options': 'nosniff',
    });
  };
  return {
    route: `${resource.uri}/attachment`,
    open: nothing,
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

/** The methods that change it, in the order of Allow. */
function writesOf<Services>(resource: Resource<Services>): readonly string[] {
  return [
    ...(resource.post === undefined ? [] : ['POST']),
    ...(resource.patch === undefined ? [] : ['PATCH']),
    ...('delete' in resource ? ['DELETE'] : []),
  ];
}

/** The path of a document: always the same answer, to anybody. */
export function documentEndpoint({ path, answer }: Document): Served {
  const get: Operation = () => answer;
  return {
    template: path,
    target: {
      route: path,
      open: reading,
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

/** The path of a stream. */
export function streamEndpoint<Services>(
  stream: StreamDefinition<Services>,
  { viewOf }: Pick<EndpointOptions<Services>, 'viewOf'>,
): Served {
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
      open: nothing,
      guard: guardOf(stream.entity, stream.uri),
      isOwn: () => false,
      allow: 'GET',
      operations: new Map([['GET', get]]),
      isCollection: false,
      ownQuery: stream.query ?? [],
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
    if (ifMatch !== undefined && !ifMatchHolds(ifMatch, etag)) throw refuse('PreconditionFailed');
    return ifNoneMatch !== undefined && ifNoneMatchHolds(ifNoneMatch, etag) ? emptyAnswer(304, { ETag: etag }) : answer;
  };
}

function showOperation<Services>(
  resource: Resource<Services>,
  renderer: Renderer<Services>,
  { viewOf }: EndpointOptions<Services>,
): (exchange: Exchange, params: Params) => Promise<Shown> {
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

/** 405 with the methods that would do (RFC 9110 §15.5.6). */
export function methodNotAllowed({ allow }: Pick<Endpoint, 'allow'>): RedfishError {
  return new RedfishError(405, [message('OperationNotAllowed')], { Allow: allow });
}
