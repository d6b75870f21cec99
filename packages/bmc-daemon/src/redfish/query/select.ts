/** `$select`: the parts of a resource that are asked for (DSP0266, $select). */
import { isArray, isObject, type Json, type JsonObject } from '../json.js';
import type { Selection } from './parse.js';

/** Always there: without them the rest is nobody's. */
const identity = ['@odata.id', '@odata.type', '@odata.context', '@odata.etag'];

/** The object with what is selected of it; what it does not have is not there. Members of arrays are selected from one by one. */
export function selectFrom(object: JsonObject, selection: Selection): JsonObject {
  if (selection.has('*')) return object;
  return Object.fromEntries(
    Object.entries(object).flatMap(([name, value]): [string, Json][] => {
      if (value === undefined) return [];
      if (identity.includes(name)) return [[name, value]];
      // A part of a list without the link to the rest would be taken for all of it.
      const below = selection.get(name.replace(/@odata\.nextLink$/, ''));
      if (below === undefined) return [];
      return [[name, below.size === 0 ? value : selectWithin(value, below)]];
    }),
  );
}

function selectWithin(value: Json, selection: Selection): Json {
  if (isArray(value)) return value.map((item) => selectWithin(item, selection));
  return isObject(value) ? selectFrom(value, selection) : value;
}
