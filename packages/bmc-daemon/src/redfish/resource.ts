/**
 * The types for declaring a resource. A resource is one literal, `defineResource({...})`, in a file with DMTF's noun as
 * its name. The pipeline implements the protocol for all resources: HEAD, 405 with Allow, ETag, If-Match, the Link
 * header, annotations, the Actions block, and the errors for invalid bodies.
 */
import type { ZodType } from 'zod';
import type { Privilege } from './privileges.js';
import type { JsonObject } from './json.js';
import type { PropertyNames } from './messages/driver-errors.js';
import type { Message } from './messages/messages.js';
import type { UploadDefinition } from './upload/uploads.js';
import { vendor } from '../version.js';

export type { Json, JsonObject } from './json.js';

/** A value, or a promise of it. A plain value saves the creation of a promise. */
export type Awaitable<T> = T | Promise<T>;

/** The parameters of a URI template, as a type. */
export type UriParams<Uri extends string> = Uri extends `${string}{${infer Name}}${infer Rest}`
  ? Readonly<Record<Name, string>> & UriParams<Rest>
  : unknown;

/**
 * The client of a request. `user` is null without EMULATOR_AUTH_FILE, and for a client that has not logged in because
 * the request needs no login.
 */
export interface Requester {
  readonly user: string | null;
  /** Id of the request's session; null without a session, for example with HTTP Basic credentials. */
  readonly session: string | null;
  readonly privileges: ReadonlySet<Privilege>;
  /** The peer's IP address. */
  readonly address: string;
  readonly requestId: string;
  /** Aborted when the client disconnects, and also after the complete answer. */
  readonly signal: AbortSignal;
}

/** A request as a resource receives it. */
export interface ResourceRequest<Services, Params> {
  readonly params: Params;
  readonly services: Services;
  readonly requester: Requester;
}

/**
 * The result of a write. Without a result, a PATCH answers 200 with the changed resource, and any other method 204.
 * - `messages`: go into `@Message.ExtendedInfo` of the resource; after a POST or DELETE they are
 *   the body of a 200. An empty list after a POST or DELETE: 204.
 * - `created`: 201 with Location; the body is the new resource with the messages.
 * - `changed`: for an action that changes another resource, or a PATCH that changes the resource's
 *   URI. 200 with Location and that resource, without `messages`; logs and subscribers see this URI.
 * - `response`: 200 with the result of an action.
 * - `task`: 202 with the monitor as Location and the Task resource as the body.
 */
export interface WriteResult {
  readonly messages?: readonly Message[];
  readonly changed?: { readonly location: string };
  readonly response?: JsonObject;
  readonly created?: { readonly location: string; readonly headers?: Readonly<Record<string, string>> };
  readonly task?: { readonly monitor: string; readonly task: string };
}

/** The status of a GET. A task monitor answers 202 while the task runs, then 200 with its result, or 204. */
export interface GetStatus {
  readonly status: 200 | 202 | 204;
  readonly headers?: Readonly<Record<string, string>>;
  /** Replaces the rendered body, without any additions. */
  readonly body?: JsonObject;
}

/** A file that belongs to a resource. */
interface Attachment {
  readonly bytes: Buffer;
  /** The content type, such as `text/plain; charset=utf-8`. */
  readonly contentType: string;
  /** The name under which a browser saves the file. */
  readonly fileName: string;
}

/** Values that rendering may use in addition to the entity. */
interface RenderContext<Services, Params> {
  /** The canonical URI: `@odata.id`. */
  readonly self: string;
  /** The parameters in `self`. */
  readonly params: Params;
  readonly services: Services;
  /** Returns whether the service has a GET for a path. */
  readonly isServed: (path: string) => boolean;
}

/** The PATCH of a resource. */
export interface PatchDefinition<Services, Params, Entity, Body> {
  /**
   * A `z.strictObject`: an unknown property is a fault (PropertyNotWritable if GET shows it or `readOnly` contains it,
   * otherwise PropertyUnknown). The pipeline removes `@odata.*` members first. Use a function if the entity or the
   * driver decides which values are valid. The service then reports an invalid value together with all other faults;
   * an error of `apply` is reported alone.
   */
  readonly body: ZodType<Body> | ((entity: Entity, services: Services) => ZodType<Body>);
  /**
   * Returns a name for the set of properties that `body` accepts, if `body` is a function. Entities with the same name
   * must accept the same properties at every depth. `@Redfish.WriteableProperties` is computed once for each name;
   * without this function, for each body.
   */
  shape?(entity: Entity, services: Services): string;
  /**
   * Properties whose new values appear in logs and events (`Boot.BootSourceOverrideTarget`); other properties appear by
   * name only. List no property that may hold a secret, such as a URL. Default: none.
   */
  readonly loggedValues?: readonly string[];
  /**
   * Reasons why clients cannot set properties, by property name; added to the PropertyNotWritable message. Use a
   * function if the reasons depend on the entity. Default: no reason.
   */
  readonly readOnly?: ReadonlyMap<string, string> | ((entity: Entity) => ReadonlyMap<string, string>);
  /**
   * Property names for the driver's fields, for the errors of `apply`. Default: none, so the error names no property.
   */
  readonly properties?: PropertyNames;
  /** Makes the change. @throws {RedfishError} {DriverError} if the change fails or is not possible. */
  apply(entity: Entity, body: Body, request: ResourceRequest<Services, Params>): Awaitable<WriteResult | undefined>;
}

/** An action, or the POST to a resource itself, such as a collection. */
export interface ActionDefinition<Services, Params, Entity, Body> {
  readonly body: ZodType<Body>;
  /** Whether a request may omit the body, which then counts as `{}`. Default false: 400 without a body. */
  readonly bodyOptional?: boolean;
  /** Whether the POST needs no login. Default: false. Only the creation of a session sets it. */
  readonly needsNoLogin?: boolean;
  /**
   * Returns annotations of the action for `Actions`. They are added to those that the pipeline derives from `body`, and
   * replace those with the same name. The pipeline derives one for each parameter, such as
   * `ResetType@Redfish.AllowableValues`: the values of an enum, or an empty list.
   */
  parameters?(entity: Entity, services: Services): JsonObject;
  /**
   * Returns whether this entity and the driver support the action. If false, the answer to GET omits the action, and
   * its URI answers 404. Default: true.
   */
  available?(entity: Entity, services: Services): boolean;
  /**
   * For an action: returns a summary for logs and events, such as `ForceOff`, without secrets. null: the action changes
   * nothing, so it causes no event. Default: an empty summary.
   */
  summary?(body: Body): string | null;
  /**
   * Reads the entity for this POST. By default, and for a request with If-None-Match, the pipeline calls `load` of the
   * resource instead.
   */
  load?(request: ResourceRequest<Services, Params>): Awaitable<Entity>;
  run(entity: Entity, body: Body, request: ResourceRequest<Services, Params>): Awaitable<WriteResult | undefined>;
}

/** The parts of a resource whose types do not depend on a request body; see {@link ResourceDefinition}. */
interface ResourceBase<Services, Uri extends string, Params, Entity> {
  /** Entity of the PrivilegeRegistry, such as `ComputerSystem` or `ComputerSystemCollection`. */
  readonly entity: string;
  /** The value of `@odata.type`, such as `#ComputerSystem.v1_27_0.ComputerSystem`. */
  readonly odataType: string;
  /** The canonical template, such as `/redfish/v1/Systems/{systemId}`. A literal, so that a text search finds it. */
  readonly uri: Uri;
  /** Other templates with the same parameters and answers. */
  readonly aliases?: readonly string[];
  /** Whether GET and HEAD need no login. */
  readonly needsNoLogin?: boolean;
  /**
   * Whether the resource is a JSON file, such as a registry: its body has `@odata.type`, but no `@odata.id` and no
   * `@odata.context`.
   */
  readonly isFile?: boolean;
  /**
   * Returns whether the resource is the client's own account, session or subscription, for the privilege ConfigureSelf.
   * Called before `load`, and only if no other privilege of the client is sufficient. Default: false.
   */
  isOwn?(request: ResourceRequest<Services, Params>): boolean;
  /**
   * Reads the entity. A request calls it once; a PATCH calls it again for the answer, and once more if it waited for
   * another PATCH. The entity is also the cache key of the rendered body: return the same object if nothing changed,
   * and never mutate it.
   * @throws {RedfishError} {DriverError} if the entity cannot be read, such as 404 for an unknown id.
   */
  load(request: ResourceRequest<Services, Params>): Awaitable<Entity>;
  /** Returns the parameters for `@odata.id`, such as a UUID for a requested name. Default: as requested. */
  canonicalParams?(entity: Entity, params: Params): Params;
  /**
   * Returns the properties of the resource. The pipeline adds `@odata.id`, `@odata.type`, `@odata.context`, the
   * annotations of annotate.ts and body/writeable.ts, `Actions` and the volatile properties. The result must depend
   * only on the entity and on constants, because it is cached until there is a new entity.
   */
  render(entity: Entity, context: RenderContext<Services, Params>): JsonObject;
  /**
   * Returns top-level properties that change although the entity does not: `DateTime`. They are computed for every
   * request, and ETags ignore them. The names never change. A function that returns the same object as before saves the
   * comparison of its values.
   */
  volatile?(services: Services): Readonly<Record<string, string>>;
  /** Returns the status of a GET. Default: 200. */
  status?(entity: Entity): GetStatus;
  /**
   * Returns the file of `AdditionalDataURI`, which the service offers at `<uri>/attachment` under the resource's
   * privileges.
   * @throws {RedfishError} 404 if the entity has no file.
   */
  attachment?(entity: Entity, request: ResourceRequest<Services, Params>): Awaitable<Attachment>;
  /** Uploads of files. Default: the resource accepts none. */
  readonly upload?: UploadDefinition<Entity, ResourceRequest<Services, Params>>;
  delete?(entity: Entity, request: ResourceRequest<Services, Params>): Awaitable<WriteResult | undefined>;
}

/**
 * A resource, as its file declares it. TypeScript infers the bodies from the zod schemas and the entity from the result
 * of `load`, so `load` comes before all members that take the entity.
 */
export interface ResourceDefinition<
  Services,
  Uri extends string,
  Entity extends object,
  PatchBody,
  PostBody,
  ActionBodies extends Readonly<Record<ActionName, unknown>>,
> extends ResourceBase<Services, Uri, UriParams<Uri>, Entity> {
  readonly patch?: PatchDefinition<Services, UriParams<Uri>, Entity, PatchBody>;
  /** POST to the resource itself (create, for a collection). */
  readonly post?: ActionDefinition<Services, UriParams<Uri>, Entity, PostBody>;
  /**
   * Actions by their key in the Actions block: `#ComputerSystem.Reset` has the URI
   * `<uri>/Actions/ComputerSystem.Reset`. A key that begins with the vendor's name is an OEM action.
   */
  readonly actions?: {
    readonly [K in keyof ActionBodies]: ActionDefinition<Services, UriParams<Uri>, Entity, ActionBodies[K]>;
  };
}

/** The key of an action in the Actions block, such as `#ComputerSystem.Reset`. */
type ActionName = `#${string}.${string}`;

/**
 * Returns `<uri>/Actions/ComputerSystem.Reset` for `#ComputerSystem.Reset`. An action that DMTF does not define has the
 * path `/Actions/Oem/` (DSP0266, OEM actions).
 */
export function actionUri(resourceUri: string, name: string): string {
  return `${resourceUri}/Actions/${isOem(name) ? 'Oem/' : ''}${name.slice(1)}`;
}

/** Returns whether an action is our own: its name begins with the vendor, `#RacklessComputerSystem.OpenConsole`. */
export function isOem(name: string): boolean {
  return name.startsWith(`#${vendor}`);
}

/** Path parameters by name, if the type system does not know the template. */
export type Params = Readonly<Record<string, string>>;

/** A resource with any entity and any bodies, as the pipeline uses it. Only {@link resourceDefiner} makes it. */
export interface Resource<Services> extends ResourceBase<Services, string, Params, object> {
  readonly patch?: PatchDefinition<Services, Params, object, unknown>;
  readonly post?: ActionDefinition<Services, Params, object, unknown>;
  readonly actions?: Readonly<Record<ActionName, ActionDefinition<Services, Params, object, unknown>>>;
}

/**
 * Returns `defineResource` for one type of services: `export const defineResource = resourceDefiner<Services>()`. Its
 * result hides the literal's types, so that an array can hold all resources.
 */
export function resourceDefiner<Services>() {
  return function defineResource<
    const Uri extends string,
    Entity extends object,
    PatchBody,
    PostBody,
    ActionBodies extends Readonly<Record<ActionName, unknown>>,
  >(definition: ResourceDefinition<Services, Uri, Entity, PatchBody, PostBody, ActionBodies>): Resource<Services> {
    // The router provides exactly the template's parameters, which the type system cannot see through `Uri`.
    return definition as unknown as Resource<Services>;
  };
}
