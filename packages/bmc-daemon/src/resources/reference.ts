/** Links between resources, and the collections that are nothing but links. */
import type { JsonObject } from '../redfish/resource.js';

/** A link: exactly `{"@odata.id": uri}` (DSP0266, reference properties). */
export function reference(uri: string): { readonly '@odata.id': string } {
  return { '@odata.id': uri };
}

/** The body of a collection, its members in the given order. */
export function renderCollection(name: string, memberUris: readonly string[]): JsonObject {
  return { Name: name, 'Members@odata.count': memberUris.length, Members: memberUris.map(reference) };
}
