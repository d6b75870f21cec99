/**
 * How a resource is declared. A resource is one literal, `defineResource({...})` in `resources/<dmtf-noun>.ts`; the pipeline in
 * this folder performs the protocol once for all of them (HEAD, 405 + Allow, ETag, If-Match, describedby, annotations, the
 * Actions block, body faults) from what the literal says.
 */
import type { ZodType } from 'zod';
import type { Privilege } from '../auth/privileges.js';
import type { PropertyNames } from './driver-errors.js';
import type { JsonObject } from './json.js';
import type { Message } from './messages.js';

export type { Json, JsonObject } from './json.js';

/** A value, or a promise of it: what is known at once need not wait. */
export type Awaitable<T> = T | Promise<T>;

/** The `{name}` parts of a URI template, as a type. */
export type UriParams<Uri extends string> = Uri extends `${string}{${infer Name}}${infer Rest}`
  ? Readonly<Record<Name, string>> & UriParams<Rest>
  : unknown;

/** Who asks. `user` is null where no AUTH_FILE is set. */
export interface Requester {
  readonly user: string | null;
  /** Id of the session that the request belongs to; null for a user and password. */
  readonly session: string | null;
  readonly privileges: ReadonlySet<Privilege>;
  /** The peer's IP address. */
  readonly address: string;
  readonly requestId: string;
  /** Aborted when the client goes away before it was answered. */
  readonly signal: AbortSignal;
}

/** Who asks for what, with what resources work with. */
export interface ResourceRequest<Services, Params> {
  readonly params: Params;
  readonly services: Services;
  readonly requester: Requester;
}

/**
 * What a write answers. Nothing: 204, or for a PATCH 200 with the resource read again. `messages` go into
 * `@Message.ExtendedInfo` of that resource (after a POST or DELETE: 200 with them as the body). `created`: 201 + Location with
 * the resource there, and the messages, as the body. `changed`: of an action that changes another resource than its own, or of a
 * PATCH that gives the resource another URI, 200 + Location with that one as the body; it is what logs and subscribers are told of. `response`: 200 with what an action is asked
 * for. `task`: 202 + Location of the monitor, with the Task resource as the body.
 */
export interface WriteResult {
  readonly messages?: readonly Message[];
  readonly changed?: { readonly location: string };
  readonly response?: JsonObject;
  readonly created?: { readonly location: string; readonly headers?: Readonly<Record<string, string>> };
  readonly task?: { readonly monitor: string; readonly task: string };
}

/** A GET that is not 200: a task monitor is 202 while the task runs and 204 when it is done. A 204 has no body. */
export interface GetStatus {
  readonly status: 200 | 202 | 204;
  readonly headers?: Readonly<Record<string, string>>;
  /** In place of what is rendered, with nothing added. */
  readonly body?: JsonObject;
}

/** A file that belongs to a resource. */
export interface Attachment {
  readonly bytes: Buffer;
  /** `text/plain; charset=utf-8`. */
  readonly contentType: string;
  /** What a browser calls it when it is saved. */
  readonly fileName: string;
}

/** What rendering may look at beside the entity. */
export interface RenderContext<Services, Params> {
  /** The canonical URI, which is `@odata.id`. */
  readonly self: string;
  /** As in `self`. */
  readonly params: Params;
  readonly services: Services;
  /** Whether there is a resource at a path of this service. */
  readonly isServed: (path: string) => boolean;
}

/** What a PATCH may say and does. */
export interface PatchDefinition<Services, Params, Entity, Body> {
  /**
   * `z.strictObject`: a property that it does not name is a fault (PropertyNotWritable where the resource shows it,
   * PropertyUnknown otherwise). `@odata.*` members never reach it. A function where what is accepted depends on the entity:
   * judged in `apply`, such a value would be told only when all the others are right.
   */
  readonly body: ZodType<Body> | ((entity: Entity) => ZodType<Body>);
  /**
   * Names the set of properties that `body` accepts, where `body` is a function: entities of one shape accept the same names at
   * every depth, whatever values those may have. `@Redfish.WriteableProperties` is derived once for each shape. There are few.
   */
  shape?(entity: Entity): string;
  /**
   * Properties, `Boot.BootSourceOverrideTarget`, whose new values logs and subscribers are told beside their names: no secrets,
   * and nothing that may hold one (a URL). Default: none.
   */
  readonly tells?: readonly string[];
  /** Why properties that GET shows cannot be set, by name. A client reads it beside PropertyNotWritable. Default: no reason. */
  readonly readOnly?: ReadonlyMap<string, string>;
  /** What its properties are to a driver, for the errors of `apply`. Default: none; the error is about no property then. */
  readonly properties?: PropertyNames;
  apply(entity: Entity, body: Body, request: ResourceRequest<Services, Params>): Awaitable<WriteResult | undefined>;
}

/** What a POST may say and does. */
export interface ActionDefinition<Services, Params, Entity, Body> {
  readonly body: ZodType<Body>;
  /** No body, `{}` and an empty body with a JSON content type are the same as `{}`. Default false: 400 without a body. */
  readonly bodyOptional?: boolean;
  /** The POST needs no credentials. Default false; for no action but the creation of a session. */
  readonly open?: boolean;
  /**
   * Annotations beside `target`, in place of those that are made of `body`: `ResetType@Redfish.AllowableValues` for each
   * parameter, with the words of an enum, empty for everything else.
   */
  parameters?(entity: Entity): JsonObject;
  /** Where not every machine can do it: false leaves the action out and answers its URI with 404. */
  available?(entity: Entity): boolean;
  /**
   * Of an action: what logs and subscribers are told beside its name, `ForceOff`; no secrets. null: it changes nothing, so nobody
   * is told. Default: its name alone.
   */
  summary?(body: Body): string | null;
  run(entity: Entity, body: Body, request: ResourceRequest<Services, Params>): Awaitable<WriteResult | undefined>;
}

/** The parts of a resource that have no body of their own; see {@link ResourceDefinition}. */
interface ResourceHead<Services, Uri extends string, Params, Entity> {
  /** Entity of the PrivilegeRegistry: `ComputerSystem`, `ComputerSystemCollection`. */
  readonly entity: string;
  /** `#ComputerSystem.v1_27_0.ComputerSystem`. */
  readonly odataType: string;
  /** Canonical template, literal and greppable: `/redfish/v1/Systems/{systemId}`. */
  readonly uri: Uri;
  /** Other spellings that answer the same, with the same parameters. */
  readonly aliases?: readonly string[];
  /** GET and HEAD need no credentials. */
  readonly open?: boolean;
  /** A file in JSON, such as a registry: it has a type, but neither `@odata.id` nor `@odata.context`, and nothing links to it. */
  readonly isFile?: boolean;
  /**
   * Whether it is the requester's own account, session or subscription: what the privilege ConfigureSelf is about. Asked
   * before `load`, and only of who has no other privilege that would do. Default: nobody's.
   */
  isOwn?(request: ResourceRequest<Services, Params>): boolean;
  /**
   * Reads what the resource is about, once a request (twice for a PATCH: before, and for the answer; once more where it had to wait for another). The result is also
   * the key of the rendering's cache: the same object again means that nothing changed, so never a mutated one.
   * @throws RedfishError 404 for an unknown id.
   */
  load(request: ResourceRequest<Services, Params>): Awaitable<Entity>;
  /** Parameters as `@odata.id` spells them (a UUID where the request gave a name). Default: as requested. */
  canonicalParams?(entity: Entity, params: Params): Params;
  /**
   * Everything but `@odata.id/type/context`, the annotations of annotate.ts, `Actions` and the volatile properties, which the
   * pipeline adds. A function of the entity and constants only: it is not called again for the same entity object.
   */
  render(entity: Entity, context: RenderContext<Services, Params>): JsonObject;
  /**
   * Top-level properties that change without the entity: `DateTime`. They are worked out for every request, and an ETag leaves them
   * out. The names are always the same.
   */
  volatile?(services: Services): Readonly<Record<string, string>>;
  /** Of a collection: members that one answer shows at most, with a link to the next ones. Default: all. */
  readonly pageSize?: number;
  /** Default: 200. */
  status?(entity: Entity): GetStatus;
  /**
   * What `AdditionalDataURI` leads to: served at `<uri>/attachment`, under the resource's own privileges.
   * @throws {RedfishError} 404 where this one has none.
   */
  attachment?(entity: Entity, request: ResourceRequest<Services, Params>): Awaitable<Attachment>;
  delete?(entity: Entity, request: ResourceRequest<Services, Params>): Awaitable<WriteResult | undefined>;
}

/**
 * One resource, as its file declares it. `PatchBody`, `PostBody` and `ActionBodies` are inferred from the zod schemas, the
 * entity from what `load` returns (so `load` stands before everything that takes the entity).
 */
export interface ResourceDefinition<
  Services,
  Uri extends string,
  Entity extends object,
  PatchBody,
  PostBody,
  ActionBodies extends Readonly<Record<ActionName, unknown>>,
> extends ResourceHead<Services, Uri, UriParams<Uri>, Entity> {
  readonly patch?: PatchDefinition<Services, UriParams<Uri>, Entity, PatchBody>;
  /** POST on the resource itself (a collection's create). */
  readonly post?: ActionDefinition<Services, UriParams<Uri>, Entity, PostBody>;
  /** Keyed as in the Actions block: `#ComputerSystem.Reset`; served at `<uri>/Actions/ComputerSystem.Reset`. */
  readonly actions?: {
    readonly [K in keyof ActionBodies]: ActionDefinition<Services, UriParams<Uri>, Entity, ActionBodies[K]>;
  };
}

/** `#ComputerSystem.Reset`. */
export type ActionName = `#${string}.${string}`;

/** Path parameters by name, when the template is not known to the type system. */
export type Params = Readonly<Record<string, string>>;

/** A resource as the pipeline sees it: any entity, any body. Made by {@link resourceDefiner}, never by hand. */
export interface Resource<Services> extends ResourceHead<Services, string, Params, object> {
  readonly patch?: PatchDefinition<Services, Params, object, unknown>;
  readonly post?: ActionDefinition<Services, Params, object, unknown>;
  readonly actions?: Readonly<Record<ActionName, ActionDefinition<Services, Params, object, unknown>>>;
}

/**
 * Gives `defineResource` for one type of services: `export const defineResource = resourceDefiner<Services>()`, once. What it
 * returns has the types of the literal erased, so that a list of resources is an array of one type.
 */
export function resourceDefiner<Services>() {
  return function defineResource<
    const Uri extends string,
    Entity extends object,
    PatchBody,
    PostBody,
    ActionBodies extends Readonly<Record<ActionName, unknown>>,
  >(definition: ResourceDefinition<Services, Uri, Entity, PatchBody, PostBody, ActionBodies>): Resource<Services> {
    // The router fills in exactly the parameters that the template names, which the type system can not see through `Uri`.
    return definition as unknown as Resource<Services>;
  };
}
