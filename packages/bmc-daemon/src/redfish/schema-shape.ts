/** What a zod schema says of itself, so that what is advertised is what is taken. */
import { z } from 'zod';

/** The properties of an object's schema, through whatever is wrapped around it; undefined for what is no object. */
export function shapeOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  const inner = unwrap(schema);
  return inner instanceof z.ZodObject ? inner.shape : undefined;
}

/** The words that are accepted, where they can be listed: an enum's. */
export function wordsOf(schema: unknown): readonly string[] {
  const inner = unwrap(schema);
  if (!(inner instanceof z.ZodEnum) && !(inner instanceof z.ZodLiteral)) return [];
  const words: readonly unknown[] = inner instanceof z.ZodEnum ? inner.options : [...inner.values];
  return words.filter((word) => typeof word === 'string');
}

/** Whether the property has to be there. */
export function isRequired(schema: unknown): boolean {
  return schema instanceof z.ZodType && !schema.safeParse(undefined).success;
}

/** DMTF's word for the kind of value that is accepted (ActionInfo, ParameterTypes). */
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
  // What is sent is what goes in, unless that is a function that takes anything.
  if (schema instanceof z.ZodPipe) return unwrap(schema.in instanceof z.ZodTransform ? schema.out : schema.in);
  return schema;
}
