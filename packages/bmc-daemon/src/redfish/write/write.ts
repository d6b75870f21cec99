/**
 * Implements POST, PATCH and DELETE: conditions, the body and its faults, the resource's own work,
 * and the answer.
 */
import { OperationQueue } from '../../drivers/queue/operation-queue.js';
import { emptyAnswer, jsonAnswer, stringify, type Answer } from '../answer.js';
import { forbiddenError } from '../authorize.js';
import { bodyFaults, type BodyTarget } from '../body/body-faults.js';
import { ifMatchHolds, ifNoneMatchMatches, type Preconditions } from '../conditions.js';
import { toRedfishError, type ErrorContext } from '../messages/driver-errors.js';
import type { EndpointOptions, Operation } from '../operation.js';
import { RedfishError, redfishError } from '../messages/errors.js';
import type { Exchange } from '../exchange.js';
import { isObject, type JsonObject } from '../json.js';
import { renderMessage, type Message } from '../messages/messages.js';
import { inTurn, withoutTurn, type BodyOrFault } from './received-write.js';
import type { Renderer } from '../rendering.js';
import type { ActionDefinition, Params, PatchDefinition, Resource, WriteResult } from '../resource.js';

/** Returns the operations of POST, PATCH and DELETE by method, for the methods that the resource defines. */
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
      postOperation(resource, renderer, resource.post, { kind: 'resource', rendered: () => undefined }, options),
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
  const change = async (
    entity: object,
    exchange: Exchange,
    params: Params,
    receivedBody: BodyOrFault,
  ): Promise<Answer> => {
    const view = viewOf(exchange);
    const request = { params, services: view.services, requester: exchange.requester };
    checkPreconditions(exchange.preconditions, () => renderer.etag(entity, params, view));
    const body = receivedBody();
    if (body === undefined) throw redfishError('MalformedJSON');
    if (Object.keys(body).length === 0) throw redfishError('NoOperation');
    checkPatchable(body, exchange);
    const rendered = () => renderer.body(entity, params, view);
    return withTranslatedErrors(exchange, { body, properties: patch.properties }, async () => {
      const schema = typeof patch.body === 'function' ? patch.body(entity, view.services) : patch.body;
      const readOnly = typeof patch.readOnly === 'function' ? patch.readOnly(entity) : patch.readOnly;
      const valid = validate(schema, body, { kind: 'resource', rendered, readOnly });
      const result = await patch.apply(entity, valid, request);
      if (result?.task !== undefined) return writeAnswer(result, exchange, options);
      // Reports the change before it builds the answer: building may fail, and the change has already
      // happened.
      const detail = changesOf(body, patch.loggedValues ?? []).join(', ');
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
  // PATCH requests for one URI run one after another. If two of them have the same ETag in If-Match, the
  // second must see the change of the first, and fail.
  const queue = new OperationQueue();
  return inTurn(options, async (exchange, params, receivedBody) => {
    const request = { params, services: viewOf(exchange).services, requester: exchange.requester };
    const entity = await resource.load(request);
    const self = renderer.self(entity, params);
    // After another PATCH, loads the entity again, because that PATCH may have changed it.
    const isAlone = !queue.isBusy(self);
    return queue.run(self, async () =>
      change(isAlone ? entity : await resource.load(request), exchange, params, receivedBody),
    );
  });
}

function postOperation<Services>(
  resource: Resource<Services>,
  renderer: Renderer<Services>,
  post: ActionDefinition<Services, Params, object, unknown>,
  target: BodyTarget,
  options: EndpointOptions<Services>,
): Operation {
  const begin = post.needsNoLogin === true ? withoutTurn : inTurn;
  return begin(options, async (exchange, params, receivedBody) => {
    const view = options.viewOf(exchange);
    const request = { params, services: view.services, requester: exchange.requester };
    // A POST ignores If-Match: an action has no ETag, and the ETag of a collection does not describe the
    // new member. DSP0266 uses If-Match only to protect an update (PATCH, PUT). gofish sends with each
    // POST the ETag of the object that it read last. So a check would reject valid requests.
    const { ifNoneMatch } = exchange.preconditions;
    const entity = await ((ifNoneMatch === undefined ? post.load?.(request) : undefined) ?? resource.load(request));
    checkPreconditions({ ifNoneMatch }, () => renderer.etag(entity, params, view));
    if (post.available?.(entity, view.services) === false) throw redfishError('ResourceMissingAtURI', exchange.path);
    const body = requiredBody(post, receivedBody);
    const context = { body, ...(target.kind === 'action' ? { action: target.action } : {}) };
    return withTranslatedErrors(exchange, context, async () => {
      const valid = validate(post.body, body, target);
      const result = await post.run(entity, valid, request);
      // The change of a task happens later, so the task reports it.
      if (target.kind === 'action' && result?.task === undefined) {
        const summary = post.summary === undefined ? '' : post.summary(valid);
        const uri = result?.changed?.location ?? renderer.self(entity, params);
        const detail = `${target.action} ${summary ?? ''}`.trimEnd();
        if (summary !== null) options.onChange?.({ kind: 'changed', uri, requester: exchange.requester, detail });
      }
      return writeAnswer(result, exchange, options);
    });
  });
}

/**
 * Returns the POST operation of an action.
 * @param name the key in the Actions block, such as `#ComputerSystem.Reset`.
 */
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
  const write = async (exchange: Exchange, params: Params): Promise<Answer> => {
    const view = options.viewOf(exchange);
    const request = { params, services: view.services, requester: exchange.requester };
    const entity = await resource.load(request);
    checkPreconditions(exchange.preconditions, () => renderer.etag(entity, params, view));
    const uri = renderer.self(entity, params);
    const result = await resource.delete?.(entity, request);
    // A task has not deleted the resource yet, so the resource is not reported as removed.
    if (result?.task === undefined) options.onChange?.({ kind: 'removed', uri, requester: exchange.requester });
    return writeAnswer(result, exchange, options);
  };
  // The service does not read the body of a DELETE.
  return inTurn({ ...options, readBody: () => Promise.resolve(undefined) }, write);
}

/**
 * Checks that the account may change all properties of a body.
 * @throws {RedfishError} 403 InsufficientPrivilege or PasswordChangeRequired.
 */
function checkPatchable(body: JsonObject, { patchable, identity }: Exchange): void {
  if (patchable !== null && !Object.keys(body).every((name) => patchable.has(name))) throw forbiddenError(identity);
}

/**
 * Checks the conditions of a request.
 * @throws {RedfishError} 412 (RFC 9110 §13.2.2).
 */
function checkPreconditions({ ifMatch, ifNoneMatch }: Preconditions, etag: () => string): void {
  if (ifMatch !== undefined && !ifMatchHolds(ifMatch, etag())) throw redfishError('PreconditionFailed');
  if (ifNoneMatch !== undefined && ifNoneMatchMatches(ifNoneMatch, etag())) throw redfishError('PreconditionFailed');
}

/**
 * Returns the body of a POST. A missing body counts as an empty object; the faults of the empty
 * object name the missing parameters.
 * @throws {RedfishError} the fault of an invalid body; 400 MalformedJSON if the body is missing, the
 *   action requires a body, and the empty object has no faults.
 */
function requiredBody(
  { bodyOptional = false, body: schema }: ActionDefinition<never, Params, object, unknown>,
  receivedBody: BodyOrFault,
): JsonObject {
  const body = receivedBody();
  if (body !== undefined) return body;
  // The schema accepts `{}`, but the action requires a body.
  if (!bodyOptional && schema.safeParse({}).success) throw redfishError('MalformedJSON');
  return {};
}

function validate<Body>(
  schema: ActionDefinition<never, Params, object, Body>['body'],
  body: JsonObject,
  target: BodyTarget,
): Body {
  // The service uses its own messages, so zod gets one constant text for all issues. Formatting
  // thousands of issues in zod costs more than finding them.
  const parsed = schema.safeParse(body, { error: () => 'invalid' });
  if (parsed.success) return parsed.data;
  throw new RedfishError(400, bodyFaults(parsed.error.issues, body, target));
}

/**
 * Runs the write, and translates the errors of the driver, of files and of the shared store. The error of
 * a driver names the action, or the property and its value.
 * @throws {RedfishError} for each error of `write`.
 */
async function withTranslatedErrors(
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

/**
 * Returns the properties that a body changes, with the values that may be logged, for example
 * `Boot.BootSourceOverrideTarget Cd`. Values that are arrays or null are never logged.
 */
function changesOf(body: JsonObject, logged: readonly string[], pathPrefix = ''): readonly string[] {
  return Object.entries(body).flatMap(([name, value]) => {
    const path = `${pathPrefix}${name}`;
    if (isObject(value)) return changesOf(value, logged, `${path}.`);
    return typeof value !== 'object' && logged.includes(path) ? [`${path} ${String(value)}`] : [path];
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
    // Clients should poll the task monitor every second.
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

/** Parses a body that this service has just rendered. */
function parsed(body: string): JsonObject {
  return JSON.parse(body) as JsonObject;
}

function withMessages(body: JsonObject, messages: readonly Message[]): string {
  return stringify({ ...body, '@Message.ExtendedInfo': messages.map(renderMessage) });
}
