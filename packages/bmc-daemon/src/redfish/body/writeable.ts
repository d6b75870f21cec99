/**
 * Adds `@Redfish.WriteableProperties`, which names the properties that a PATCH accepts in an
 * object. The names come from the PATCH's schema.
 */
import { isObject, type Json, type JsonObject } from '../json.js';
import { shapeOf } from './schema-shape.js';

/**
 * Name of the object that must not contain an annotation, because clients read each of its members
 * as an attribute.
 */
const unannotated = 'Attributes';

/**
 * Properties that a schema accepts. The value of an object property lists the properties inside it;
 * the value of any other property is undefined.
 */
export type Writeable = ReadonlyMap<string, Writeable | undefined>;

/**
 * Reads the writeable properties from a schema.
 * @param schema the schema of the body of a PATCH, or of an object in it.
 * @returns undefined if the schema does not describe an object.
 */
export function writeableOf(schema: unknown): Writeable | undefined {
  const shape = shapeOf(schema);
  if (shape === undefined) return undefined;
  // An annotation of a request (`@Redfish.SettingsApplyTime`) is not a property.
  const properties = Object.entries(shape).filter(([name]) => !name.startsWith('@'));
  return new Map(
    properties.map(([name, property]) => [name, name === unannotated ? undefined : writeableOf(property)]),
  );
}

/**
 * Returns the object with annotations: in the object itself and in the nested objects that have writeable
 * properties, but not in objects of lists. An annotation names the writeable properties of its own object.
 * It does not name a nested object that has its own annotations. It also names properties that GET does
 * not show, such as a password.
 */
export function withWriteableProperties(object: JsonObject, writeable: Writeable | undefined): JsonObject {
  if (writeable === undefined) return object;
  const annotated: Record<string, Json | undefined> = { ...object };
  const names: string[] = [];
  for (const [name, inner] of writeable) {
    const value = object[name];
    if (inner !== undefined && isObject(value)) annotated[name] = withWriteableProperties(value, inner);
    else names.push(name);
  }
  if (names.length > 0) annotated['@Redfish.WriteableProperties'] = names;
  return annotated;
}
