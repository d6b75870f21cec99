/** Bodies that a schema nearly takes: its own names, with values of every wrong kind. */
import { z } from 'zod';
import type { Random } from '../../../daemon/test/support/random.js';

/**
 * JSON texts, not values: `__proto__` is a name like any other in JSON. Objects imitate strings, arrays, promises, and what
 * JavaScript calls by name.
 */
const hostile: readonly string[] = [
  ...['null', 'true', 'false', '0', '-1', '1.5', '1e400', '-0', '9007199254740993', '[]', '{}', '""', '"x"'],
  ...['{"length":{"toString":1}}', '{"length":{"toString":1,"valueOf":1}}', '{"length":-1}', '{"length":1e9}'],
  ...['{"size":{"toString":1}}', '{"toString":1}', '{"valueOf":1,"toString":null}', '{"toJSON":1}', '{"then":1}'],
  ...['{"constructor":{"prototype":{"isPrototypeOf":1}}}', '{"hasOwnProperty":1}', '{"__proto__":{"a":1}}'],
  ...['{"includes":1,"map":1,"length":1}', '{"0":"x","length":1}', '{"code":"custom"}', '{"@odata.id":{"length":1}}'],
  ...['{"@odata.id":"/redfish/v1/Systems"}', '{"@odata.id":"//[::1"}', '{"@odata.id":null}', '{"Name":"x","Value":1}'],
  ...['[null]', '[[]]', '[[[[[[[[]]]]]]]]', '[{}]', '["x","x"]', '[{"length":{"toString":1}}]', '[1,"1",true,null]'],
  ...[
    '"\\u0000"',
    '"\\ud800"',
    '"__proto__"',
    '"constructor"',
    '"toString"',
    '"\\n\\r\\t"',
    '"%s%n%00"',
    '"../../etc"',
  ],
  ...[
    '"http://127.0.0.1:9/x"',
    '"http://[::1"',
    '"http://u:p@127.0.0.1:9/"',
    '"ftp://x/"',
    '"data:,x"',
    '"http://%zz/"',
  ],
  ...['"127.0.0.1"', '"::"', '"255.255.255.0"', '"999.1.1.1"', '"PT1S"', '"P1Y"', '"PT1e9S"', '"2026-01-01T00:00:00Z"'],
  ...[
    '"-----BEGIN CERTIFICATE-----\\nAAAA\\n-----END CERTIFICATE-----"',
    '"Administrator"',
    '"Static"',
    '"*"',
    '"$2y$05$"',
  ],
  `"${'x'.repeat(300)}"`,
  `"${'@'.repeat(70_000)} "`,
  `[${'0,'.repeat(1500)}0]`,
];
const names = [
  'length',
  'toString',
  '__proto__',
  'constructor',
  'then',
  'Foo',
  '',
  '@Redfish.SettingsApplyTime',
  'a/b~c',
];

/** A JSON text for a schema, made by chance. */
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

/** A JSON text for a schema of an object: some of its names, now and then another one or one of them twice. */
export function nearlyObject(schema: z.ZodObject, random: Random): string {
  const known = Object.entries(schema.shape).filter(() => !random.oneIn(3));
  const members = known.map(([name, value]) => `${JSON.stringify(name)}:${nearly(value, random)}`);
  const others = random.oneIn(4) ? [`${JSON.stringify(random.pick(names))}:${random.pick(hostile)}`] : [];
  const again = random.oneIn(10) ? members.slice(0, 1) : [];
  return `{${[...members, ...others, ...again].join(',')}}`;
}
