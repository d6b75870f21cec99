/**
 * Reads the JSON of a service. Services differ and have faults, so a value with an unexpected type
 * counts as missing.
 */
import { withoutTrailingSlashes } from '@rackless/daemon/text/trailing-slashes.js';

/** An object that a service sent. Its members can have any type. */
export type Resource = Readonly<Record<string, unknown>>;

const isResource = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns the value if it is an object, else an empty object. */
export function asResource(value: unknown): Resource {
  return isResource(value) ? value : {};
}

/** Returns the value at a path of member names; undefined if there is none. */
function valueAt(resource: unknown, path: readonly string[]): unknown {
  let value = resource;
  for (const name of path) {
    if (!isResource(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

/**
 * Returns the text at a path; undefined if there is none. A number counts as a text. A text without characters other
 * than spaces counts as missing.
 */
export function textAt(resource: unknown, ...path: string[]): string | undefined {
  const value = valueAt(resource, path);
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

/** Returns the finite number at a path; undefined if there is none. */
export function numberAt(resource: unknown, ...path: string[]): number | undefined {
  const value = valueAt(resource, path);
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** Returns the boolean at a path; undefined if there is none. */
export function flagAt(resource: unknown, ...path: string[]): boolean | undefined {
  const value = valueAt(resource, path);
  return typeof value === 'boolean' ? value : undefined;
}

/** Returns the object at a path; an empty one if there is none. */
export function objectAt(resource: unknown, ...path: string[]): Resource {
  return asResource(valueAt(resource, path));
}

/** Returns the list at a path; an empty one if there is none. */
export function listAt(resource: unknown, ...path: string[]): readonly unknown[] {
  const value = valueAt(resource, path);
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** Returns the texts of the list at a path, without items of other types; undefined if there is no list. */
export function textsAt(resource: unknown, ...path: string[]): readonly string[] | undefined {
  const value = valueAt(resource, path);
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : undefined;
}

/**
 * Returns the URI of the link at a path: the `@odata.id` there, or a plain text; undefined if there is none. A text
 * without characters other than spaces counts as missing, because it would lead to the root of the service.
 */
export function linkAt(resource: unknown, ...path: string[]): string | undefined {
  const value = valueAt(resource, path);
  return typeof value === 'string' ? textAt(value) : textAt(value, '@odata.id');
}

/** Returns the URIs of the links in the list at a path, without items that are no links. */
export function linksAt(resource: unknown, ...path: string[]): readonly string[] {
  return listAt(resource, ...path).flatMap((item) => linkAt(item) ?? []);
}

/** Returns the last segment of a URI, which is the id of the resource in most services. */
export const lastSegment = (uri: string): string => withoutTrailingSlashes(uri).replace(/^.*\//, '');
