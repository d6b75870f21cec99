/** `@Redfish.WriteableProperties`: what a PATCH takes, said in the object that it stands in; worked out from the PATCH's schema. */
import { isObject, type JsonObject } from './json.js';
import { shapeOf } from './schema-shape.js';

/** Its members are for each service to name (Bios): clients take all that is in it for an attribute. */
const open = 'Attributes';

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
    // An annotation of a request (`@Redfish.SettingsApplyTime`) is no property.
    if (name.startsWith('@')) continue;
    const value = object[name];
    if (name !== open && isObject(value) && shapeOf(property) !== undefined)
      below.set(name, withWriteableProperties(value, property));
    else writeable.push(name);
  }
  const own = Object.fromEntries(Object.entries(object).map(([name, value]) => [name, below.get(name) ?? value]));
  return writeable.length === 0 ? own : { ...own, '@Redfish.WriteableProperties': writeable };
}
