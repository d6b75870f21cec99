/** A loaded entity as the answer to a GET. What an entity once became is kept for as long as the entity itself. */
import { annotate, type AnnotateOptions } from './annotate.js';
import { emptyAnswer, jsonAnswer, stringify, type Answer } from './answer.js';
import { entityTag } from './conditions.js';
import type { JsonObject } from './json.js';
import type { Params, Resource } from './resource.js';
import { shapeOf, wordsOf } from './schema-shape.js';
import { withWriteableProperties, writeableOf, type Writeable } from './writeable.js';

/** What a request sees of the service: everything, or one machine. */
export interface View<Services> {
  readonly services: Services;
  /** The machine's UUID; null: everything. */
  readonly scope: string | null;
}

/** One resource with everything that depends on its declaration alone worked out. */
export interface Renderer<Services> {
  /** Of every answer that shows it: Allow, Link. */
  readonly headers: Readonly<Record<string, string>>;
  /** `@odata.id`. */
  self(entity: object, params: Params): string;
  /** The body as an object: what a PATCH adds its messages to and looks read-only properties up in. */
  body(entity: object, params: Params, view: View<Services>): JsonObject;
  etag(entity: object, params: Params, view: View<Services>): string;
  /** The answer to GET and HEAD. */
  answer(entity: object, params: Params, view: View<Services>): Answer;
}

/**
 * The cached results of an entity, by `@odata.id` and view: one entity (a machine's snapshot) is shown at several. They go with the
 * entity, which a driver replaces when anything of the machine changes.
 */
interface Kept {
  etag?: string;
  answer?: Answer;
  /** For queries, which build new objects from it and never change it. */
  body?: JsonObject;
}

export interface RendererOptions extends AnnotateOptions {
  /** Value of the Allow header. */
  readonly allow: string;
  readonly isServed: (path: string) => boolean;
}

/** Works a resource out. */
export function createRenderer<Services>(
  resource: Resource<Services>,
  { allow, isServed, ...annotateOptions }: RendererOptions,
): Renderer<Services> {
  const { entity: entityName, odataType } = resource;
  const fill = compileTemplate(resource.uri);
  const context = `/redfish/v1/$metadata#${contextOf(odataType)}`;
  const describedBy = `<http://redfish.dmtf.org/schemas/v1/${schemaOf(odataType)}.json>; rel=describedby`;
  const fixed = { Allow: allow, Link: describedBy };
  const actions = Object.entries(resource.actions ?? {}).map(([name, action]) => ({
    name,
    action,
    allowable: allowableValues(action.body),
  }));
  const writeable = writeableReader(resource.patch);
  const kept = new WeakMap<object, Map<string, Kept>>();

  const canonical = (entity: object, params: Params): Params => resource.canonicalParams?.(entity, params) ?? params;

  const bodyAt = (entity: object, params: Params, self: string, services: Services): JsonObject => {
    const rendered = {
      ...(resource.isFile === true
        ? { '@odata.type': odataType }
        : { '@odata.id': self, '@odata.type': odataType, '@odata.context': context }),
      ...resource.render(entity, { self, params, services, isServed }),
      ...resource.volatile?.(services),
      ...(actions.length > 0 ? { Actions: actionsBlock(entity, self) } : {}),
    };
    return annotate(withWriteableProperties(rendered, writeable(entity)), entityName, annotateOptions);
  };

  // What is advertised is what is served: both come from the literal.
  const actionsBlock = (entity: object, self: string): JsonObject =>
    Object.fromEntries(
      actions
        .filter(({ action }) => action.available?.(entity) ?? true)
        .map(({ name, action, allowable }) => [
          name,
          { target: actionUri(self, name), ...allowable, ...action.parameters?.(entity) },
        ]),
    );

  const keptOf = (entity: object, self: string, scope: string | null): Kept => {
    const ofEntity = kept.get(entity) ?? new Map<string, Kept>();
    if (ofEntity.size === 0) kept.set(entity, ofEntity);
    // No path has a space.
    const key = scope === null ? self : `${self} ${scope}`;
    const known = ofEntity.get(key);
    if (known !== undefined) return known;
    const fresh: Kept = {};
    ofEntity.set(key, fresh);
    return fresh;
  };

  /** The body of an entity, rendered once; its volatile properties are of this moment. */
  const bodyOf = (entity: object, params: Params, self: string, services: Services, keep: Kept): JsonObject => {
    keep.body ??= bodyAt(entity, params, self, services);
    return resource.volatile === undefined ? keep.body : { ...keep.body, ...resource.volatile(services) };
  };

  const etagOf = (body: JsonObject, services: Services): string => {
    const volatile = Object.keys(resource.volatile?.(services) ?? {});
    if (volatile.length === 0) return entityTag(stringify(body));
    return entityTag(stringify({ ...body, ...Object.fromEntries(volatile.map((name) => [name, undefined])) }));
  };

  const fresh = (entity: object, params: Params, self: string, services: Services, keep: Kept): Answer => {
    const body = bodyOf(entity, params, self, services, keep);
    const headers = { ...fixed, ETag: (keep.etag ??= etagOf(body, services)) };
    const special = resource.status?.(entity);
    if (special?.status === 204) return emptyAnswer(204, { ...headers, ...special.headers });
    return jsonAnswer(special?.status ?? 200, stringify(special?.body ?? body), { ...headers, ...special?.headers });
  };

  return {
    headers: fixed,
    self: (entity, params) => fill(canonical(entity, params)),
    body(entity, params, { services, scope }) {
      const own = canonical(entity, params);
      const self = fill(own);
      return bodyOf(entity, own, self, services, keptOf(entity, self, scope));
    },
    etag(entity, params, { services, scope }) {
      const own = canonical(entity, params);
      const self = fill(own);
      const keep = keptOf(entity, self, scope);
      return (keep.etag ??= etagOf(bodyOf(entity, own, self, services, keep), services));
    },
    answer(entity, params, { services, scope }) {
      const own = canonical(entity, params);
      const self = fill(own);
      const keep = keptOf(entity, self, scope);
      if (resource.volatile !== undefined) return fresh(entity, own, self, services, keep);
      return (keep.answer ??= fresh(entity, own, self, services, keep));
    },
  };
}

/** Gives what a PATCH of an entity takes; a schema is read once for each shape of it. */
function writeableReader<Services>(patch: Resource<Services>['patch']): (entity: object) => Writeable | undefined {
  if (typeof patch?.body !== 'function') {
    const always = writeableOf(patch?.body);
    return () => always;
  }
  const { body } = patch;
  const byShape = new Map<string, Writeable | undefined>();
  return (entity) => {
    const shape = patch.shape?.(entity);
    if (shape === undefined) return writeableOf(body(entity));
    const known = byShape.get(shape);
    if (known !== undefined) return known;
    const found = writeableOf(body(entity));
    byShape.set(shape, found);
    return found;
  };
}

/** A list for every parameter, as DMTF's interop profiles want it: empty where the values can not be listed. */
function allowableValues(schema: unknown): JsonObject {
  const parameters = Object.entries(shapeOf(schema) ?? {});
  return Object.fromEntries(parameters.map(([name, value]) => [`${name}@Redfish.AllowableValues`, wordsOf(value)]));
}

/** `<uri>/Actions/ComputerSystem.Reset` for `#ComputerSystem.Reset`. */
export function actionUri(resourceUri: string, name: string): string {
  return `${resourceUri}/Actions/${name.slice(1)}`;
}

/** `ComputerSystem.ComputerSystem` of `#ComputerSystem.v1_27_0.ComputerSystem`. */
function contextOf(odataType: string): string {
  const parts = odataType.slice(1).split('.');
  return `${parts[0] ?? ''}.${parts.at(-1) ?? ''}`;
}

/** `ComputerSystem.v1_27_0`, which is also the name of its schema's file. */
function schemaOf(odataType: string): string {
  return odataType.slice(1).split('.').slice(0, -1).join('.');
}

/** A function that puts parameters into a template. */
function compileTemplate(template: string): (params: Params) => string {
  const parts = template.split(/\{(\w+)\}/);
  return (params) => parts.map((part, index) => (index % 2 === 0 ? part : encodeSegment(params[part] ?? ''))).join('');
}

/** Percent-encodes what a path segment can not hold. A MAC address keeps its colons (RFC 3986 §3.3, pchar). */
export function encodeSegment(value: string): string {
  return encodeURIComponent(value).replace(/%(3A|40|24|26|2B|2C|3B|3D)/g, decodeURIComponent);
}
