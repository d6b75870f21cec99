/** `$select`: the parts of a resource that are asked for (DSP0266, $select). */
import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import type { Selection } from './parse.js';

/** Always there: without them a part is not known to be one. */
const identity = ['@odata.id', '@odata.type', '@odata.context', '@odata.etag'];

/** Returns the selection within a member of an object; undefined: all of it. */
export function selectionBelow(name: string, selection: Selection | undefined): Selection | undefined | 'nothing' {
  if (selection === undefined || selection.has('*') || identity.includes(name)) return undefined;
  // A part of a list without the link to the rest would be taken for all of it.
  const below = selection.get(name.replace(/@odata\.nextLink$/, ''));
  if (below === undefined) return 'nothing';
  return below.size === 0 ? undefined : below;
}

/** The object with what is selected of it; what it does not have is not there. Members of arrays are selected from one by one. */
export function selectFrom(object: JsonObject, selection: Selection): JsonObject {
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]): [string, Json][] => {
      const below = selectionBelow(name, selection);
      if (value === undefined || below === 'nothing') return [];
      return [[name, below === undefined ? value : selectWithin(value, below)]];
    }),
  );
}

/** The value with what is selected of the objects in it. */
export function selectWithin(value: Json, selection: Selection): Json {
  if (isArray(value)) return value.map((item) => selectWithin(item, selection));
  return isObject(value) ? selectFrom(value, selection) : value;
}
