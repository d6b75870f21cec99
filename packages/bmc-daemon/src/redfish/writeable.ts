/** `@Redfish.WriteableProperties`: names what a PATCH takes, in the object that it stands in. The PATCH's schema says it. */
import { isObject, type Json, type JsonObject } from './json.js';
import { shapeOf } from './schema-shape.js';

/** Clients take every member of it for an attribute, so it has no annotation inside. */
const open = 'Attributes';

/** The properties that a schema accepts, worked out once. A property that is an object has those within it. */
export type Writeable = ReadonlyMap<string, Writeable | undefined>;

/**
 * Reads the properties from a schema.
 * @param schema what a PATCH of the object takes.
 * @returns undefined where the schema is not an object's.
 */
export function writeableOf(schema: unknown): Writeable | undefined {
  const shape = shapeOf(schema);
  if (shape === undefined) return undefined;
  // An annotation of a request (`@Redfish.SettingsApplyTime`) is not a property.
  const properties = Object.entries(shape).filter(([name]) => !name.startsWith('@'));
  return new Map(properties.map(([name, property]) => [name, name === open ? undefined : writeableOf(property)]));
}

/**
 * Returns the object with the annotation, and each object within it with its own. An object that is not shown gets none; a
 * property that is not shown (a password) is named.
 */
export function withWriteableProperties(object: JsonObject, writeable: Writeable | undefined): JsonObject {
  if (writeable === undefined) return object;
  const annotated: Record<string, Json | undefined> = { ...object };
  const names: string[] = [];
  for (const [name, below] of writeable) {
    const value = object[name];
    if (below !== undefined && isObject(value)) annotated[name] = withWriteableProperties(value, below);
    else names.push(name);
  }
  if (names.length > 0) annotated['@Redfish.WriteableProperties'] = names;
  return annotated;
}
