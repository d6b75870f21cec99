/** Reads zod schemas, so that the service advertises exactly what it accepts. */
import { z } from 'zod';

/**
 * Returns the properties of an object schema inside any wrappers (optional, nullable, default,
 * pipe); undefined for another schema.
 */
export function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  const inner = unwrap(schema);
  return inner instanceof z.ZodObject ? inner.shape : undefined;
}

/** Returns the accepted strings of an enum or a literal; empty for any other schema. */
export function allowedStringsOf(schema: unknown): readonly string[] {
  const inner = unwrap(schema);
  if (!(inner instanceof z.ZodEnum) && !(inner instanceof z.ZodLiteral)) return [];
  const values: readonly unknown[] = inner instanceof z.ZodEnum ? inner.options : [...inner.values];
  return values.filter((value) => typeof value === 'string');
}

/** Returns whether a body must contain the property that has the given schema. */
export function isRequired(schema: unknown): boolean {
  return schema instanceof z.ZodType && !schema.safeParse(undefined).success;
}

/**
 * Returns the DMTF data type of a schema (ActionInfo, ParameterTypes). Every array counts as an array
 * of strings, and any other kind of schema, such as a union, as a string.
 */
export function dataTypeOf(schema: unknown): 'Boolean' | 'Number' | 'Object' | 'String' | 'StringArray' {
  const inner = unwrap(schema);
  if (inner instanceof z.ZodBoolean) return 'Boolean';
  if (inner instanceof z.ZodNumber) return 'Number';
  if (inner instanceof z.ZodObject) return 'Object';
  if (inner instanceof z.ZodArray) return 'StringArray';
  return inner instanceof z.ZodLiteral && [...inner.values].every((value) => typeof value === 'number')
    ? 'Number'
    : 'String';
}

function unwrap(schema: unknown): unknown {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return unwrap(schema.unwrap());
  }
  // The input of a pipe describes the body that clients send. If the input is a function, it accepts
  // anything, so the output describes the body.
  if (schema instanceof z.ZodPipe) return unwrap(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  return schema;
}
