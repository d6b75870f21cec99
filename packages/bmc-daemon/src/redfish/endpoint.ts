/** What a path does for each method, worked out from the resource that declares it. */
import { emptyAnswer, jsonAnswer, stringify, type Answer } from './answer.js';
import { OperationQueue } from '../drivers/operation-queue.js';
import { readBody } from './body.js';
import { bodyFaults, type BodyOwner } from './body-faults.js';
import { ifMatchHolds, ifNoneMatchHolds } from './conditions.js';
import type { Document } from './documents.js';
import { toRedfishError } from './driver-errors.js';
import { RedfishError, refuse } from './errors.js';
import type { Exchange } from './exchange.js';
import type { JsonObject } from './json.js';
import { message, renderMessage, type Message } from './messages.js';
import { actionUri, createRenderer, type Renderer } from './rendering.js';
import type { ActionDefinition, Awaitable, Params, Resource, ResourceRequest, WriteResult } from './resource.js';

export type Operation = (exchange: Exchange, params: Params) => Awaitable<Answer>;

export interface Endpoint {
  /** The template, for metrics. */
  readonly route: string;
  /** GET and HEAD need no credentials. */
  readonly open: boolean;
  /** Value of the Allow header. */
  readonly allow: string;
  /** By method. HEAD is GET; send() leaves the body out. */
  readonly operations: ReadonlyMap<string, Operation>;
}

export interface EndpointOptions<Services> {
  readonly services: Services;
  readonly strict: boolean;
  /** The answer to a GET of another resource, for the body of a 201 or 202. */
  readonly read: (uri: string, exchange: Exchange) => Awaitable<Answer>;
}

/** The paths of one resource: its own, its aliases', and one for each action under each of them. */
export function resourceEndpoints<Services>(
  resource: Resource<Services>,
  options: EndpointOptions<Services>,
): readonly { readonly template: string; readonly target: Endpoint }[] {
  const allow = ['GET', 'HEAD', resource.post && 'POST', resource.patch && 'PATCH', resource.delete && 'DELETE']
    .filter((method) => method !== undefined)
    .join(', ');
  const renderer = createRenderer(resource, { ...options, allow });
  const own = {
    route: resource.uri,
    open: resource.open ?? false,
    allow,
    operations: operationsOf(resource, renderer, options),
  };
  const actions = Object.entries(resource.actions ?? {}).map(([name, action]) => ({
    name,
    target: actionEndpoint(resource, renderer, name, action, options),
  }));
  return [resource.uri, ...(resource.aliases ?? [])].flatMap((template) => [
    { template, target: own },
    ...actions.map(({ name, target }) => ({ template: actionUri(template, name), target })),
  ]);
}

/** The path of a document: always the same answer, to anybody. */
export function documentEndpoint({ path, answer }: Document): { readonly template: string; readonly target: Endpoint } {
  const get: Operation = () => answer;
  return {
    template: path,
    target: {
      route: path,
      open: true,
      allow: 'GET, HEAD',
      operations: new Map([
        ['GET', get],
        ['HEAD', get],
      ]),
    },
  };
}

function operationsOf<Services>(
  resource: Resource<Services>,
  renderer: Renderer,
  options: EndpointOptions<Services>,
): ReadonlyMap<string, Operation> {
  const { services } = options;
  const { patch, post } = resource;
  const operations = new Map<string, Operation>();

  const get: Operation = async ({ request, requester }, params) => {
    const entity = await resource.load({ params, services, requester });
    const answer = renderer.answer(entity, params);
    const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
    if ((ifMatch === undefined && ifNoneMatch === undefined) || answer.status !== 200) return answer;
    const etag = renderer.etag(entity, params);
    if (ifMatch !== undefined && !ifMatchHolds(ifMatch, etag)) throw refuse('PreconditionFailed');
    return ifNoneMatch !== undefined && ifNoneMatchHolds(ifNoneMatch, etag) ? emptyAnswer(304, { ETag: etag }) : answer;
  };
  operations.set('GET', get);
  operations.set('HEAD', get);

  if (patch !== undefined) {
    const change = async (entity: object, exchange: Exchange, params: Params, received: Received): Promise<Answer> => {
      const request = { params, services, requester: exchange.requester };
      checkPreconditions(exchange, () => renderer.etag(entity, params));
      const body = received();
      if (body === undefined) throw refuse('MalformedJSON');
      if (Object.keys(body).length === 0) throw refuse('NoOperation');
      const shown = () => renderer.body(entity, params);
      return translating(exchange, { body }, async () => {
        const schema = typeof patch.body === 'function' ? patch.body(entity) : patch.body;
        const result = await patch.apply(entity, validate(schema, body, { kind: 'resource', shown }), request);
        if (result?.task !== undefined) return writeAnswer(result, exchange, options);
        const changed = await resource.load(request);
        const answer = renderer.answer(changed, params);
        if (result?.messages === undefined) return answer;
        const etag = renderer.etag(changed, params);
        return jsonAnswer(200, withMessages(renderer.body(changed, params), result.messages), { ETag: etag });
      });
    };
    // Of two that come with the same ETag, the second has to see what the first one did.
    const turns = new OperationQueue();
    operations.set('PATCH', async (exchange, params) => {
      const request = { params, services, requester: exchange.requester };
      const received = await receive(exchange);
      const entity = await resource.load(request);
      const self = renderer.self(entity, params);
      const first = !turns.isBusy(self);
      return turns.run(self, async () =>
        change(first ? entity : await resource.load(request), exchange, params, received),
      );
    });
  }
  if (post !== undefined) {
    const shown = () => undefined;
    operations.set('POST', async (exchange, params) => {
      const request = { params, services, requester: exchange.requester };
      const received = await receive(exchange);
      const entity = await loadForWrite(resource, renderer, exchange, request);
      const body = requiredBody(post, received);
      return translating(exchange, { body }, async () =>
        writeAnswer(
          await post.run(entity, validate(post.body, body, { kind: 'resource', shown }), request),
          exchange,
          options,
        ),
      );
    });
  }
  if (resource.delete !== undefined) {
    operations.set('DELETE', async (exchange, params) => {
      const request = { params, services, requester: exchange.requester };
      const entity = await loadForWrite(resource, renderer, exchange, request);
      return writeAnswer(await resource.delete?.(entity, request), exchange, options);
    });
  }
  return operations;
}

function actionEndpoint<Services>(
  resource: Resource<Services>,
  renderer: Renderer,
  name: string,
  action: ActionDefinition<Services, Params, object, unknown>,
  options: EndpointOptions<Services>,
): Endpoint {
  const plain = name.slice(1);
  const post: Operation = async (exchange, params) => {
    const request = { params, services: options.services, requester: exchange.requester };
    const received = await receive(exchange);
    const entity = await loadForWrite(resource, renderer, exchange, request);
    if (action.available?.(entity) === false) throw refuse('ResourceMissingAtURI', exchange.path);
    const body = requiredBody(action, received);
    return translating(exchange, { action: plain, body }, async () =>
      writeAnswer(
        await action.run(entity, validate(action.body, body, { kind: 'action', action: plain }), request),
        exchange,
        options,
      ),
    );
  };
  return {
    route: actionUri(resource.uri, name),
    open: false,
    allow: 'POST',
    operations: new Map([['POST', post]]),
  };
}

/** Gives the body, or throws what is wrong with it. */
type Received = () => JsonObject | undefined;

/**
 * Reads the body before anything is loaded: it may take its time, and what was loaded would be old by then. Its faults are told
 * later, for a precondition that does not hold comes before them.
 */
async function receive({ request }: Exchange): Promise<Received> {
  try {
    const body = await readBody(request);
    return () => body;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** Loads, and compares the preconditions with what a GET would have shown. */
async function loadForWrite<Services>(
  resource: Resource<Services>,
  renderer: Renderer,
  exchange: Exchange,
  subject: ResourceRequest<Services, Params>,
): Promise<object> {
  const entity = await resource.load(subject);
  checkPreconditions(exchange, () => renderer.etag(entity, subject.params));
  return entity;
}

/** @throws {RedfishError} 412 (RFC 9110 §13.2.2). */
function checkPreconditions({ request }: Exchange, etag: () => string): void {
  const { 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  if (ifMatch !== undefined && !ifMatchHolds(ifMatch, etag())) throw refuse('PreconditionFailed');
  if (ifNoneMatch !== undefined && ifNoneMatchHolds(ifNoneMatch, etag())) throw refuse('PreconditionFailed');
}

/** The body of a POST. Without one, an empty object: its faults say which parameters are missing. */
function requiredBody(
  { bodyOptional = false, body: schema }: ActionDefinition<never, Params, object, unknown>,
  received: Received,
): JsonObject {
  const body = received();
  if (body !== undefined) return body;
  // Nothing is missing in `{}`, but a body is: say so rather than run on nothing.
  if (!bodyOptional && schema.safeParse({}).success) throw refuse('MalformedJSON');
  return {};
}

function validate<Body>(
  schema: ActionDefinition<never, Params, object, Body>['body'],
  body: JsonObject,
  owner: BodyOwner,
): Body {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new RedfishError(400, bodyFaults(parsed.error.issues, body, owner));
}

/** Runs the write; what the driver throws is told with the action's or the property's name and value. */
async function translating(
  { path }: Exchange,
  context: { readonly action?: string; readonly body: JsonObject },
  write: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await write();
  } catch (error) {
    throw toRedfishError(error, { ...context, path });
  }
}

async function writeAnswer<Services>(
  result: WriteResult | undefined,
  exchange: Exchange,
  { read }: EndpointOptions<Services>,
): Promise<Answer> {
  if (result?.created !== undefined) {
    const { location, headers } = result.created;
    const { body = '' } = await read(location, exchange);
    return jsonAnswer(201, body, { ...headers, Location: location });
  }
  if (result?.task !== undefined) {
    const { body = '' } = await read(result.task.task, exchange);
    // Retry-After: one second is what task monitors are polled at.
    return jsonAnswer(202, body, { Location: result.task.monitor, 'Retry-After': '1' });
  }
  if (result?.messages === undefined || result.messages.length === 0) return emptyAnswer(204);
  return jsonAnswer(200, withMessages({}, result.messages));
}

function withMessages(body: JsonObject, messages: readonly Message[]): string {
  return stringify({ ...body, '@Message.ExtendedInfo': messages.map(renderMessage) });
}

/** 405 with the methods that would do (RFC 9110 §15.5.6). */
export function methodNotAllowed({ allow }: Pick<Endpoint, 'allow'>): RedfishError {
  return new RedfishError(405, [message('OperationNotAllowed')], { Allow: allow });
}
