/**
 * How a resource is declared. A resource is one literal, `defineResource({...})` in `resources/<dmtf-noun>.ts`; the pipeline in
 * this folder performs the protocol once for all of them (HEAD, 405 + Allow, ETag, If-Match, describedby, annotations, the
 * Actions block, body faults) from what the literal says.
 */
import type { ZodType } from 'zod';
import type { Message } from './messages.js';

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };
export type JsonObject = { readonly [key: string]: Json | undefined };

/** The `{name}` parts of a URI template, as a type. */
export type UriParams<Uri extends string> = Uri extends `${string}{${infer Name}}${infer Rest}`
  ? { readonly [K in Name]: string } & UriParams<Rest>
  : unknown;

/** Who asks. `user` is null where no AUTH_FILE is set. */
export interface Requester {
  readonly user: string | null;
  readonly address: string;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

export interface ResourceRequest<Services, Params> {
  readonly params: Params;
  readonly services: Services;
  readonly requester: Requester;
}

/**
 * What a write answers. Nothing: 204, or for a PATCH 200 with the resource read again. `messages` go into
 * `@Message.ExtendedInfo` of that resource. `created`: 201 + Location. `task`: 202 + Location of the monitor.
 */
export interface WriteResult {
  readonly messages?: readonly Message[];
  readonly created?: { readonly location: string; readonly body: JsonObject; readonly headers?: Readonly<Record<string, string>> };
  readonly task?: { readonly monitor: string; readonly body: JsonObject };
}

export interface PatchDefinition<Services, Params, Entity, Body> {
  /** Strict: an unknown property is a fault. */
  readonly body: ZodType<Body>;
  apply(entity: Entity, body: Body, request: ResourceRequest<Services, Params>): Promise<WriteResult | undefined>;
}

export interface ActionDefinition<Services, Params, Entity, Body> {
  readonly body: ZodType<Body>;
  /** No body, `{}` and an empty body with a JSON content type are the same as `{}`. Default false: 400 without a body. */
  readonly bodyOptional?: boolean;
  /** Annotations beside `target`, such as `ResetType@Redfish.AllowableValues`. */
  readonly parameters?: (entity: Entity) => JsonObject;
  /** Where not every machine can do it. */
  readonly available?: (entity: Entity) => boolean;
  run(entity: Entity, body: Body, request: ResourceRequest<Services, Params>): Promise<WriteResult | undefined>;
}

export interface ResourceDefinition<Services, Uri extends string, Entity> {
  /** Entity of the PrivilegeRegistry: `ComputerSystem`, `ComputerSystemCollection`. */
  readonly entity: string;
  /** `#ComputerSystem.v1_27_0.ComputerSystem`. */
  readonly odataType: string;
  /** Canonical template, literal and greppable: `/redfish/v1/Systems/{systemId}`. */
  readonly uri: Uri;
  /** Other spellings that answer the same, with the same parameters. */
  readonly aliases?: readonly string[];
  /** Needs no credentials. */
  readonly open?: boolean;
  /** Reads what the resource is about, once a request. @throws RedfishError 404 for an unknown id. */
  load(request: ResourceRequest<Services, UriParams<Uri>>): Promise<Entity>;
  /** Parameters as `@odata.id` spells them (a UUID where the request gave a name). Default: as requested. */
  canonicalParams?(entity: Entity, params: UriParams<Uri>): UriParams<Uri>;
  /** Pure. Everything but `@odata.*`, annotations and `Actions`, which the pipeline adds. `self` is the canonical URI. */
  render(entity: Entity, context: { readonly self: string; readonly params: UriParams<Uri>; readonly services: Services }): JsonObject;
  /** Top-level properties that an ETag leaves out: `DateTime`. */
  readonly volatile?: readonly string[];
  readonly patch?: PatchDefinition<Services, UriParams<Uri>, Entity, never>;
  /** POST on the resource itself (a collection's create). */
  readonly post?: ActionDefinition<Services, UriParams<Uri>, Entity, never>;
  readonly delete?: (entity: Entity, request: ResourceRequest<Services, UriParams<Uri>>) => Promise<WriteResult | undefined>;
  /** Keyed as in the Actions block: `#ComputerSystem.Reset`. */
  readonly actions?: Readonly<Record<`#${string}.${string}`, ActionDefinition<Services, UriParams<Uri>, Entity, never>>>;
}
