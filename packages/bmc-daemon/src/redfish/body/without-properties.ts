/** Removes the properties that a driver does not support from the schemas of bodies. */
import { z } from 'zod';

/**
 * Returns a schema without some of its properties.
 * @param schema a schema whose properties are all optional, because the type of the result still
 *   lists the removed properties.
 */
export function withoutProperties<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape, z.core.$strict>,
  names: readonly (keyof Shape & string)[],
): z.ZodType<z.output<z.ZodObject<Shape, z.core.$strict>>> {
  if (names.length === 0) return schema;
  const shape = Object.entries(schema.shape).filter(([name]) => !names.includes(name));
  return z.strictObject(Object.fromEntries(shape) as Shape); // The removed properties are optional in `Shape`.
}
