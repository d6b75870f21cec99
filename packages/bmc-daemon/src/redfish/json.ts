/** Types for JSON values. */

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
/** A JSON object. A member that is `undefined` is not sent. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** Returns whether the value is an array. Unlike this function, `Array.isArray` does not narrow readonly arrays. */
export function isArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** Returns whether the value is an object and not an array. */
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isArray(value);
}
