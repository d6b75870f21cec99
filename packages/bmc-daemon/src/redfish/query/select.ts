/** `$select`: reduces a resource to the selected properties (DSP0266, $select). */
import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import type { Selection } from './parse.js';

/**
 * Always included: the properties that identify the resource, and the messages, which say that the service could not
 * read a resource.
 */
const alwaysIncluded = ['@odata.id', '@odata.type', '@odata.context', '@odata.etag', '@Message.ExtendedInfo'];

/**
 * Returns the selection inside a member of an object; undefined if the whole member is selected,
 * `nothing` if the member is not selected.
 */
export function selectionBelow(name: string, selection: Selection | undefined): Selection | undefined | 'nothing' {
  if (selection === undefined || selection.has('*') || alwaysIncluded.includes(name)) return undefined;
  // A selected list includes the link to its next page; without the link, clients take the page for
  // the whole list.
  const inner = selection.get(name.replace(/@odata\.nextLink$/, ''));
  if (inner === undefined) return 'nothing';
  return inner.size === 0 ? undefined : inner;
}

/**
 * Returns the object with only the selected properties and those that are always included. The selection
 * inside an array applies to each member of the array.
 */
export function selectFrom(object: JsonObject, selection: Selection): JsonObject {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]): [string, Json][] => {
      const inner = selectionBelow(name, selection);
      if (value === undefined || inner === 'nothing') return [];
      return [[name, inner === undefined ? value : selectWithin(value, inner)]];
    }),
  );
}

/** Applies the selection to each object in a value. */
export function selectWithin(value: Json, selection: Selection): Json {
  if (isArray(value)) return value.map((item) => selectWithin(item, selection));
  return isObject(value) ? selectFrom(value, selection) : value;
}
