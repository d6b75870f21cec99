/** What POST, PATCH and DELETE do: preconditions, the body and its faults, the resource's own work, and the answer to it. */
import { OperationQueue } from '../drivers/operation-queue.js';
import { emptyAnswer, jsonAnswer, stringify, type Answer } from './answer.js';
import { forbidden } from './authorize.js';
import { freeBodyBytes, type ReadBody } from './body.js';
import { bodyFaults, type BodyOwner } from './body-faults.js';
import { ifMatchHolds, ifNoneMatchHolds, type Preconditions } from './conditions.js';
import { toRedfishError, type ErrorContext } from './driver-errors.js';
import type { EndpointOptions, Operation } from './endpoint.js';
import { RedfishError, refuse } from './errors.js';
import type { Exchange } from './exchange.js';
import { isObject, type JsonObject } from './json.js';
import { renderMessage, type Message } from './messages.js';
import type { Renderer } from './rendering.js';
import type { ActionDefinition, Params, PatchDefinition, Resource, WriteResult } from './resource.js';

/** The writing methods of a resource, by method. */
export function writeOperations<Services>(
  resource: Resource<Services>,
  renderer: Renderer<Services>,
  options: EndpointOptions<Services>,
): ReadonlyMap<string, Operation> {
  const operations = new Map<string, Operation>();
  if (resource.patch !== undefined)
    operations.set('PATCH', patchOperation(resource, renderer, resource.patch, options));
  if (resource.post !== undefined) {
    operations.set(
      'POST',
      postOperation(resource, renderer, resource.post, { kind: 'resource', shown: () => undefined }, options),
    );
  }
  if (resource.delete !== undefined) operations.set('DELETE', deleteOperation(resource, renderer, options));
  return operations;
}

function patchOperation<Services>(
  resource: Resource<Services>,
  renderer: Renderer<Services>,
  patch: PatchDefinition<Services, Params, object, unknown>,
  options: EndpointOptions<Services>,
): Operation {
  const { viewOf, onChange } = options;
  const change = async (entity: object, exchange: Exchange, params: Params, received: Received): Promise<Answer> => {
    const view = viewOf(exchange);
    const request = { params, services: view.services, requester: exchange.requester };
    checkPreconditions(exchange.preconditions, () => renderer.etag(entity, params, view));
    const body = received();
    if (body === undefined) throw refuse('MalformedJSON');
    if (Object.keys(body).length === 0) throw refuse('NoOperation');
    checkPatchable(body, exchange);
    const shown = () => renderer.body(entity, params, view);
    return translating(exchange, { body, properties: patch.properties }, async () => {
      const schema = typeof patch.body === 'function' ? patch.body(entity) : patch.body;
      const result = await patch.apply(
        entity,
        validate(schema, body, { kind: 'resource', shown, readOnly: patch.readOnly }),
        request,
      );
      if (result?.task !== undefined) return writeAnswer(result, exchange, options);
      // Before the answer is made: that may fail, and the change has happened all the same.
      const detail = changesOf(body, patch.tells ?? []).join(', ');
      const uri = result?.changed?.location ?? renderer.self(entity, params);
      onChange?.({ kind: 'changed', uri, requester: exchange.requester, detail });
      if (result?.changed !== undefined) return writeAnswer(result, exchange, options);
      const changed = await resource.load(request);
      const answer = renderer.answer(changed, params, view);
      if (result?.messages === undefined) return answer;
      const etag = renderer.etag(changed, params, view);
      return jsonAnswer(200, withMessages(renderer.body(changed, params, view), result.messages), { ETag: etag });
    });
  };
  // Of two that come with the same ETag, the second has to see what the first one did.
  const turns = new OperationQueue();
  return async (incoming, params) => {
    const received = await receive(options.readBody(incoming.request));
    const exchange = await incoming.reauthorize();
    const request = { params, services: viewOf(exchange).services, requester: exchange.requester };
    const entity = await resource.load(request);
    const self = renderer.self(entity, params);
    const first = !turns.isBusy(self);
    return turns.run(self, async () =>
      change(first ? entity : await resource.load(request), exchange, params, received),
    );
  };
}

function postOperation<Services>(
  resource: Resource<Services>,
  renderer: Renderer<Services>,
  post: ActionDefinition<Services, Params, object, unknown>,
  owner: BodyOwner,
  options: EndpointOptions<Services>,
): Operation {
  return async (incoming, params) => {
    const limit = post.open === true ? freeBodyBytes : undefined;
    const received = await receive(options.readBody(incoming.request, limit));
    const exchange = await incoming.reauthorize();
    const view = options.viewOf(exchange);
    const request = { params, services: view.services, requester: exchange.requester };
    const entity = await resource.load(request);
    // The target of an action has no ETag, and the ETag of a collection does not describe the new member. gofish sends the ETag
    // of the object that it read last. DSP0266 uses If-Match to protect an update (PATCH, PUT) only.
    const { ifNoneMatch } = exchange.preconditions;
    checkPreconditions({ ifNoneMatch }, () => renderer.etag(entity, params, view));
    if (post.available?.(entity) === false) throw refuse('ResourceMissingAtURI', exchange.path);
    const body = requiredBody(post, received);
    const context = { body, ...(owner.kind === 'action' ? { action: owner.action } : {}) };
    return translating(exchange, context, async () => {
      const valid = validate(post.body, body, owner);
      const result = await post.run(entity, valid, request);
      // What becomes a task is told of by the task.
      if (owner.kind === 'action' && result?.task === undefined) {
        const summary = post.summary === undefined ? '' : post.summary(valid);
        const uri = result?.changed?.location ?? renderer.self(entity, params);
        const detail = `${owner.action} ${summary ?? ''}`.trimEnd();
        if (summary !== null) options.onChange?.({ kind: 'changed', uri, requester: exchange.requester, detail });
      }
      return writeAnswer(result, exchange, options);
    });
  };
}

/** POST to an action's target. @param name as in the Actions block, `#ComputerSystem.Reset`. */
export function actionOperation<Services>(
  resource: Resource<Services>,
  renderer: Renderer<Services>,
  name: string,
  action: ActionDefinition<Services, Params, object, unknown>,
  options: EndpointOptions<Services>,
): Operation {
  return postOperation(resource, renderer, action, { kind: 'action', action: name.slice(1) }, options);
}

function deleteOperation<Services>(
  resource: Resource<Services>,
  renderer: Renderer<Services>,
  options: EndpointOptions<Services>,
): Operation {
  return async (exchange, params) => {
    const view = options.viewOf(exchange);
    const request = { params, services: view.services, requester: exchange.requester };
    const entity = await resource.load(request);
    checkPreconditions(exchange.preconditions, () => renderer.etag(entity, params, view));
    const uri = renderer.self(entity, params);
    const result = await resource.delete?.(entity, request);
    // A task that deletes has not done so yet.
    if (result?.task === undefined) options.onChange?.({ kind: 'removed', uri, requester: exchange.requester });
    return writeAnswer(result, exchange, options);
  };
}

/** @throws {RedfishError} 403 where the account may change some of the properties, and this is another. */
function checkPatchable(body: JsonObject, { patchable, who }: Exchange): void {
  if (patchable !== null && !Object.keys(body).every((name) => patchable.has(name))) throw forbidden(who);
}

/** Gives the body, or throws what is wrong with it. */
type Received = () => JsonObject | undefined;

/**
 * Reads the body before anything is loaded: it may take its time, and what was loaded would be old by then. Its faults are told
 * later, for a precondition that does not hold comes before them.
 */
async function receive(reading: ReturnType<ReadBody>): Promise<Received> {
  try {
    const body = await reading;
    return () => body;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

/** @throws {RedfishError} 412 (RFC 9110 §13.2.2). */
function checkPreconditions({ ifMatch, ifNoneMatch }: Preconditions, etag: () => string): void {
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
  // The messages are ours: putting thousands of issues into zod's words costs more than finding them.
  const parsed = schema.safeParse(body, { error: () => 'invalid' });
  if (parsed.success) return parsed.data;
  throw new RedfishError(400, bodyFaults(parsed.error.issues, body, owner));
}

/** Runs the write; what the driver throws is told with the action's or the property's name and value. */
async function translating(
  { path }: Exchange,
  context: Pick<ErrorContext, 'action' | 'body' | 'properties'>,
  write: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await write();
  } catch (error) {
    throw toRedfishError(error, { ...context, path });
  }
}

/** `Boot.BootSourceOverrideTarget Cd, AssetTag`: what a body names, with the values that are no secrets. */
function changesOf(body: JsonObject, told: readonly string[], above = ''): readonly string[] {
  return Object.entries(body).flatMap(([name, value]) => {
    const path = `${above}${name}`;
    if (isObject(value)) return changesOf(value, told, `${path}.`);
    return typeof value !== 'object' && told.includes(path) ? [`${path} ${String(value)}`] : [path];
  });
}

async function writeAnswer<Services>(
  result: WriteResult | undefined,
  exchange: Exchange,
  { read, onChange }: EndpointOptions<Services>,
): Promise<Answer> {
  if (result?.created !== undefined) {
    const { location, headers } = result.created;
    onChange?.({ kind: 'created', uri: location, requester: exchange.requester });
    const { body = '' } = await read(location, exchange);
    const text = result.messages === undefined ? body : withMessages(parsed(body), result.messages);
    return jsonAnswer(201, text, { ...headers, Location: location });
  }
  if (result?.task !== undefined) {
    const { body = '' } = await read(result.task.task, exchange);
    // Retry-After: one second is what task monitors are polled at.
    return jsonAnswer(202, body, { Location: result.task.monitor, 'Retry-After': '1' });
  }
  if (result?.changed !== undefined) {
    const { location } = result.changed;
    const { body = '' } = await read(location, exchange);
    return jsonAnswer(200, body, { Location: location });
  }
  if (result?.response !== undefined) return jsonAnswer(200, stringify(result.response));
  if (result?.messages === undefined || result.messages.length === 0) return emptyAnswer(204);
  return jsonAnswer(200, withMessages({}, result.messages));
}

/** What we have just written ourselves, as an object again. */
function parsed(body: string): JsonObject {
  return JSON.parse(body) as JsonObject;
}

function withMessages(body: JsonObject, messages: readonly Message[]): string {
  return stringify({ ...body, '@Message.ExtendedInfo': messages.map(renderMessage) });
}
