/** Makes bodies that nearly fit a schema: known names, with correct values and values of all wrong kinds. */
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Random } from '../../../daemon/test/support/random.js';

interface HostileValues {
  readonly values: readonly string[];
  readonly names: readonly string[];
  readonly long: readonly (readonly [start: string, piece: string, count: number, end: string])[];
}

/**
 * Hostile values as JSON texts, because `__proto__` is an ordinary name only in JSON. Objects imitate
 * strings, arrays and promises, and have names that JavaScript calls. scripts/attack uses the same
 * values.
 */
const shared = JSON.parse(
  readFileSync(new URL('../../../../scripts/attack.d/hostile-values.json', import.meta.url), 'utf8'),
) as HostileValues; // the file of this repository has this form
const hostile: readonly string[] = [
  ...shared.values,
  ...shared.long.map(([start, piece, count, end]) => `${start}${piece.repeat(count)}${end}`),
];
const { names } = shared;

/**
 * Returns a random JSON text for a schema: at least one time in four a hostile value, otherwise one of the right type.
 * For a string, a number and all other types without a case below, always a hostile value.
 */
export function nearly(schema: unknown, random: Random): string {
  if (random.oneIn(4)) return random.pick(hostile);
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable || schema instanceof z.ZodDefault) {
    return nearly(schema.unwrap(), random);
  }
  if (schema instanceof z.ZodPipe) return nearly(schema.in instanceof z.ZodTransform ? schema.out : schema.in, random);
  if (schema instanceof z.ZodUnion) return nearly(random.pick([...schema.options]), random);
  if (schema instanceof z.ZodEnum) return JSON.stringify(random.pick([...schema.options]));
  if (schema instanceof z.ZodLiteral) return JSON.stringify(random.pick([...schema.values]));
  if (schema instanceof z.ZodBoolean) return random.pick(['true', 'false']);
  if (schema instanceof z.ZodArray) {
    return `[${Array.from({ length: random.integer(4) }, () => nearly(schema.element, random)).join(',')}]`;
  }
  if (schema instanceof z.ZodRecord) return `{${JSON.stringify(random.pick(names))}:${random.pick(hostile)}}`;
  return schema instanceof z.ZodObject ? nearlyObject(schema, random) : random.pick(hostile);
}

/**
 * Returns a random JSON text for an object schema: some of its names, sometimes an unknown or a
 * repeated name.
 */
export function nearlyObject(schema: z.ZodObject, random: Random): string {
  const known = Object.entries(schema.shape).filter(() => !random.oneIn(3));
  const members = known.map(([name, value]) => `${JSON.stringify(name)}:${nearly(value, random)}`);
  const others = random.oneIn(4) ? [`${JSON.stringify(random.pick(names))}:${random.pick(hostile)}`] : [];
  const again = random.oneIn(10) ? members.slice(0, 1) : [];
  return `{${[...members, ...others, ...again].join(',')}}`;
}
