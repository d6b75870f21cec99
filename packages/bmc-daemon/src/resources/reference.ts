/** Renders links between resources, and collections of links. */
import type { JsonObject } from '../redfish/resource.js';

/** Returns a link: `{"@odata.id": uri}` (DSP0266, reference properties). */
export function reference(uri: string): { readonly '@odata.id': string } {
  return { '@odata.id': uri };
}

/**
 * Renders the property `name` with a link; empty if the URI is not served, because its feature is absent or the
 * feature set excludes it.
 */
export function linkIfServed(name: string, uri: string, isServed: (path: string) => boolean): JsonObject {
  return isServed(uri) ? { [name]: reference(uri) } : {};
}

/** Renders the body of a collection. Keeps the order of the members. */
export function renderCollection(name: string, memberUris: readonly string[]): JsonObject {
  return { Name: name, 'Members@odata.count': memberUris.length, Members: memberUris.map(reference) };
}
