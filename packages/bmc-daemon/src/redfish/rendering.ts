/**
 * Renders a loaded entity as the answer to a GET, and caches the result as long as the entity
 * exists.
 */
import { annotate, type AnnotateOptions } from './annotate.js';
import { emptyAnswer, jsonAnswer, stringify, type Answer } from './answer.js';
import { shapeOf, allowedStringsOf } from './body/schema-shape.js';
import { withWriteableProperties, writeableOf, type Writeable } from './body/writeable.js';
import { entityTag } from './conditions.js';
import type { JsonObject } from './json.js';
import { actionUri, isOem, type Params, type Resource } from './resource.js';

/** The part of the service that a request sees: everything, or one machine. */
export interface View<Services> {
  readonly services: Services;
  /** The machine's UUID; null: everything. */
  readonly scope: string | null;
}

/** A resource, prepared for rendering. */
export interface Renderer<Services> {
  /** Headers of every answer with this resource: Allow, Link. */
  readonly headers: Readonly<Record<string, string>>;
  /** Returns the `@odata.id`. */
  self(entity: object, params: Params): string;
  /**
   * Returns the body as an object. A PATCH that has messages answers with this body and the messages. If
   * a PATCH rejects a property, the property is read-only if it is in this body, otherwise unknown.
   */
  body(entity: object, params: Params, view: View<Services>): JsonObject;
  /** Returns the ETag of the resource, which the answer and the conditions of a request use. */
  etag(entity: object, params: Params, view: View<Services>): string;
  /** Returns the answer to GET and HEAD. */
  answer(entity: object, params: Params, view: View<Services>): Answer;
}

/**
 * Cached results of an entity for one `@odata.id` and view: several URIs may show one entity (a
 * machine's snapshot). An entry lives as long as its entity; when a machine changes, the driver
 * creates a new entity.
 */
interface CacheEntry {
  etag?: string;
  /** The last answer, with the values of its volatile properties. */
  answered?: { readonly answer: Answer; readonly volatile: Volatile };
  /** The rendered body; no reader changes it. Its volatile properties may be outdated. */
  body?: JsonObject;
}

/** The volatile properties of a resource with their values; empty if it has none. */
type Volatile = Readonly<Record<string, string>>;
const noneVolatile: Volatile = {};

/** An entity at its URI in a view, with its cached results. */
interface Rendered<Services> {
  readonly entity: object;
  readonly params: Params;
  readonly self: string;
  readonly services: Services;
  readonly cached: CacheEntry;
}

/** Options for one resource. */
interface RendererOptions extends AnnotateOptions {
  /** Value of the Allow header. */
  readonly allow: string;
  /** Returns whether the service has a GET for a path. */
  readonly isServed: (path: string) => boolean;
}

/** Prepares a resource for rendering. */
export function createRenderer<Services>(resource: Resource<Services>, options: RendererOptions): Renderer<Services> {
  const fill = compileTemplate(resource.uri);
  const describedBy = `<http://redfish.dmtf.org/schemas/v1/${schemaOf(resource.odataType)}.json>; rel=describedby`;
  const fixedHeaders = { Allow: options.allow, Link: describedBy };
  const render = bodyRenderer(resource, options);
  const cache = new WeakMap<object, Map<string, CacheEntry>>();

  const canonical = (entity: object, params: Params): Params => resource.canonicalParams?.(entity, params) ?? params;

  const volatileOf = (services: Services): Volatile => resource.volatile?.(services) ?? noneVolatile;

  /** Returns the cached body of an entity, with the given values of its volatile properties. */
  const bodyOf = ({ entity, params, self, services, cached }: Rendered<Services>, volatile: Volatile): JsonObject => {
    cached.body ??= render(entity, params, self, services);
    return volatile === noneVolatile ? cached.body : { ...cached.body, ...volatile };
  };

  const etagOf = (rendered: Rendered<Services>, volatile: Volatile): string => {
    const hidden = Object.fromEntries(Object.keys(volatile).map((name) => [name, undefined]));
    return (rendered.cached.etag ??= entityTag(stringify({ ...bodyOf(rendered, volatile), ...hidden })));
  };

  const renderAnswer = (rendered: Rendered<Services>, volatile: Volatile): Answer => {
    const { entity } = rendered;
    const body = bodyOf(rendered, volatile);
    const headers = { ...fixedHeaders, ETag: etagOf(rendered, volatile) };
    const custom = resource.status?.(entity);
    if (custom?.status === 204) return emptyAnswer(204, { ...headers, ...custom.headers });
    return jsonAnswer(custom?.status ?? 200, stringify(custom?.body ?? body), { ...headers, ...custom?.headers });
  };

  const find = (entity: object, given: Params, { services, scope }: View<Services>): Rendered<Services> => {
    const params = canonical(entity, given);
    const self = fill(params);
    return { entity, params, self, services, cached: cacheEntryOf(cache, entity, self, scope) };
  };

  return {
    headers: fixedHeaders,
    self: (entity, params) => fill(canonical(entity, params)),
    body: (entity, params, view) => bodyOf(find(entity, params, view), volatileOf(view.services)),
    etag(entity, params, view) {
      const rendered = find(entity, params, view);
      return rendered.cached.etag ?? etagOf(rendered, volatileOf(view.services));
    },
    answer(entity, params, view) {
      const rendered = find(entity, params, view);
      const { cached } = rendered;
      const volatile = volatileOf(view.services);
      // A time in whole seconds is the same for many requests, so they get the same answer.
      if (cached.answered !== undefined && areEqual(cached.answered.volatile, volatile)) return cached.answered.answer;
      const answer = renderAnswer(rendered, volatile);
      cached.answered = { answer, volatile };
      return answer;
    },
  };
}

/** Returns whether two sets of values are equal. Both sets have the same names, so it compares only the values. */
function areEqual(values: Volatile, others: Volatile): boolean {
  if (values === others) return true;
  for (const name in values) if (values[name] !== others[name]) return false;
  return true;
}

/** Returns the cache entry of an entity at a URI in a view; creates it if there is none. */
function cacheEntryOf(
  cache: WeakMap<object, Map<string, CacheEntry>>,
  entity: object,
  self: string,
  scope: string | null,
): CacheEntry {
  const entries = cache.get(entity) ?? new Map<string, CacheEntry>();
  if (entries.size === 0) cache.set(entity, entries);
  // A space separates the parts, because no path contains a space.
  const key = scope === null ? self : `${self} ${scope}`;
  const cachedValue = entries.get(key);
  if (cachedValue !== undefined) return cachedValue;
  const entry: CacheEntry = {};
  entries.set(key, entry);
  return entry;
}

/** Returns a function that renders the body of an entity, with annotations and actions. */
function bodyRenderer<Services>(
  resource: Resource<Services>,
  { isServed, strict, currentUri }: RendererOptions,
): (entity: object, params: Params, self: string, services: Services) => JsonObject {
  const { entity: entityName, odataType } = resource;
  const context = `/redfish/v1/$metadata#${contextOf(odataType)}`;
  const writeable = writeableReader(resource.patch);
  const actions = Object.entries(resource.actions ?? {}).map(([name, action]) => ({
    name,
    action,
    allowable: allowableValues(action.body),
  }));
  // The advertised actions and the served actions come from the same literal, so they cannot differ.
  const actionsBlock = (entity: object, self: string, services: Services): JsonObject => {
    const available = actions
      .filter(({ action }) => action.available?.(entity, services) ?? true)
      .map(({ name, action, allowable }): [string, JsonObject] => [
        name,
        { target: actionUri(self, name), ...allowable, ...action.parameters?.(entity, services) },
      ]);
    const oem = available.filter(([name]) => isOem(name));
    return {
      ...Object.fromEntries(available.filter(([name]) => !isOem(name))),
      ...(oem.length === 0 ? {} : { Oem: Object.fromEntries(oem) }),
    };
  };
  return (entity, params, self, services) => {
    const rendered = {
      ...(resource.isFile === true
        ? { '@odata.type': odataType }
        : { '@odata.id': self, '@odata.type': odataType, '@odata.context': context }),
      ...resource.render(entity, { self, params, services, isServed }),
      ...resource.volatile?.(services),
      ...(actions.length > 0 ? { Actions: actionsBlock(entity, self, services) } : {}),
    };
    return annotate(withWriteableProperties(rendered, writeable(entity, services)), entityName, { strict, currentUri });
  };
}

/**
 * Returns a function that lists what a PATCH of an entity accepts. If `PatchDefinition.body` is a
 * function, the returned function calls `body` once for each name that `PatchDefinition.shape`
 * returns; without `shape`, every time.
 */
function writeableReader<Services>(
  patch: Resource<Services>['patch'],
): (entity: object, services: Services) => Writeable | undefined {
  if (typeof patch?.body !== 'function') {
    const always = writeableOf(patch?.body);
    return () => always;
  }
  const { body } = patch;
  const byShape = new Map<string, Writeable | undefined>();
  return (entity, services) => {
    const shape = patch.shape?.(entity, services);
    if (shape === undefined) return writeableOf(body(entity, services));
    const cachedValue = byShape.get(shape);
    if (cachedValue !== undefined) return cachedValue;
    const properties = writeableOf(body(entity, services));
    byShape.set(shape, properties);
    return properties;
  };
}

/**
 * Returns `@Redfish.AllowableValues` for every parameter, as DMTF's interop profiles require. The
 * list is empty if the schema has no list of values.
 */
function allowableValues(schema: unknown): JsonObject {
  const parameters = Object.entries(shapeOf(schema) ?? {});
  return Object.fromEntries(
    parameters.map(([name, value]) => [`${name}@Redfish.AllowableValues`, allowedStringsOf(value)]),
  );
}

/** Returns `ComputerSystem.ComputerSystem` for `#ComputerSystem.v1_27_0.ComputerSystem`. */
function contextOf(odataType: string): string {
  const parts = odataType.slice(1).split('.');
  return `${parts[0] ?? ''}.${parts.at(-1) ?? ''}`;
}

/** Returns `ComputerSystem.v1_27_0`, which is also the name of the schema file. */
function schemaOf(odataType: string): string {
  return odataType.slice(1).split('.').slice(0, -1).join('.');
}

/** Returns a function that fills in the parameters of a template. */
function compileTemplate(template: string): (params: Params) => string {
  const [start = '', ...rest] = template.split(/\{(\w+)\}/);
  return (params) => {
    let uri = start;
    for (let index = 0; index < rest.length; index += 2) {
      uri += encodeSegment(params[rest[index] ?? ''] ?? '') + (rest[index + 1] ?? '');
    }
    return uri;
  };
}

/** Segments that need no encoding, such as a UUID. */
const plainSegment = /^[\w.~-]*$/;

/**
 * Percent-encodes a path segment. Keeps the characters that a segment may contain (RFC 3986 §3.3, pchar),
 * such as the colons of a MAC address.
 */
export function encodeSegment(value: string): string {
  if (plainSegment.test(value)) return value;
  return encodeURIComponent(value).replace(/%(3A|40|24|26|2B|2C|3B|3D)/g, decodeURIComponent);
}

/** Decodes one segment of a path. An invalid percent escape is literal text. */
export function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
