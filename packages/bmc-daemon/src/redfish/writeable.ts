/** `@Redfish.WriteableProperties`: what a PATCH takes, said in the object that it stands in; worked out from the PATCH's schema. */
import { z } from 'zod';
import { isObject, type JsonObject } from './json.js';

/**
 * The object with the annotation, and each object within it with its own. Only for what is shown: a property that can be written
 * and not read (a password) is named, an object that is not there is not made.
 * @param schema what a PATCH of the object takes.
 */
export function withWriteableProperties(object: JsonObject, schema: unknown): JsonObject {
  const shape = shapeOf(schema);
  if (shape === undefined) return object;
  const below = new Map<string, JsonObject>();
  const writeable: string[] = [];
  for (const [name, property] of Object.entries(shape)) {
    const value = object[name];
    if (isObject(value) && shapeOf(property) !== undefined) below.set(name, withWriteableProperties(value, property));
    else writeable.push(name);
  }
  const own = Object.fromEntries(Object.entries(object).map(([name, value]) => [name, below.get(name) ?? value]));
  return writeable.length === 0 ? own : { ...own, '@Redfish.WriteableProperties': writeable };
}

/** The properties of an object's schema, through whatever is wrapped around it; undefined for what is no object. */
function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  if (schema instanceof z.ZodObject) return schema.shape;
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) return shapeOf(schema.unwrap());
  // What is sent is what goes in, unless that is a function that takes anything.
  if (schema instanceof z.ZodPipe) return shapeOf(schema.in) ?? shapeOf(schema.out);
  return undefined;
}
