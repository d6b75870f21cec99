import { describe, expect, it } from '@jest/globals';
import { z, type ZodType } from 'zod';
import type { JsonObject } from '../json.js';
import { message, messageId, messageText } from '../messages/messages.js';
import { bodyFaults, type BodyTarget } from './body-faults.js';

const faults = (schema: ZodType, body: JsonObject, owner: BodyTarget) =>
  bodyFaults(schema.safeParse(body).error?.issues ?? [], body, owner).map((fault) => [
    messageId(fault).replace('Base.1.22.', ''),
    ...fault.args,
    ...fault.related,
  ]);

const resource: BodyTarget = {
  kind: 'resource',
  rendered: () => ({ Id: 'a', Boot: { Mode: 'UEFI' }, Links: [{ Name: 'x' }] }),
};
const action: BodyTarget = { kind: 'action', action: 'ComputerSystem.Reset' };

describe('bodyFaults of a resource', () => {
  const schema = z.strictObject({
    AssetTag: z.string().min(2).max(3).regex(/^x/).optional(),
    Count: z.number().int().min(1).optional(),
    Boot: z
      .strictObject({
        Target: z.enum(['Pxe', 'Cd']),
        Uri: z.url({ protocol: /^https?$/ }).optional(),
        Password: z.enum(['one']).optional(),
      })
      .optional(),
    Servers: z.array(z.string().nullable()).max(2).optional(),
    Either: z.union([z.null(), z.strictObject({ Size: z.number() })]).optional(),
    Even: z
      .number()
      .refine((value) => value % 2 === 0, { message: 'Odd numbers bring bad luck' })
      .optional(),
    Tag: z
      .string()
      .refine(() => false, { params: { message: message('PropertyValueConflict', 'Tag', 'AssetTag') } })
      .optional(),
  });

  it.each<[string, JsonObject, readonly (readonly (string | number)[])[]]>([
    ['no fault of a valid body', { Boot: { Target: 'Cd' }, Servers: [null, 'a'], Either: null }, []],
    [
      'every fault at once',
      { AssetTag: 5, Boot: { Target: 'Floppy', Foo: 1 }, Bar: 2 },
      [
        ['PropertyValueTypeError', '5', 'AssetTag', '#/AssetTag'],
        ['PropertyValueNotInList', 'Floppy', 'Target', '#/Boot/Target'],
        ['PropertyUnknown', 'Foo', '#/Boot/Foo'],
        ['PropertyUnknown', 'Bar', '#/Bar'],
      ],
    ],
    [
      'properties that GET shows and PATCH does not accept as read-only',
      { Id: 'b', Boot: { Target: 'Cd', Mode: 'x' }, Links: [] },
      [
        ['PropertyNotWritable', 'Mode', '#/Boot/Mode'],
        ['PropertyNotWritable', 'Id', '#/Id'],
        ['PropertyNotWritable', 'Links', '#/Links'],
      ],
    ],
    ['a missing property', { Boot: {} }, [['PropertyMissing', 'Target', '#/Boot/Target']]],
    [
      'null where it is not allowed',
      { AssetTag: null },
      [['PropertyValueTypeError', 'null', 'AssetTag', '#/AssetTag']],
    ],
    [
      'a number in place of a listed word',
      { Boot: { Target: 3 } },
      [['PropertyValueTypeError', '3', 'Target', '#/Boot/Target']],
    ],
    [
      'lengths',
      { AssetTag: 'xyzw', Servers: ['a', 'b', 'c'] },
      [
        ['StringValueTooLong', 'xyzw', 3, '#/AssetTag'],
        ['ArraySizeTooLong', 'Servers', 2, '#/Servers'],
      ],
    ],
    [
      'a string that is too short and of the wrong form',
      { AssetTag: 'y' },
      [
        ['StringValueTooShort', 'y', 2, '#/AssetTag'],
        ['PropertyValueFormatError', 'y', 'AssetTag', '#/AssetTag'],
      ],
    ],
    ['a range', { Count: 0 }, [['PropertyValueOutOfRange', '0', 'Count', '#/Count']]],
    ['a member of an array', { Servers: ['a', 1] }, [['PropertyValueTypeError', '1', 'Servers/1', '#/Servers/1']]],
    [
      'an object in place of a string',
      { AssetTag: { a: 1 } },
      [['PropertyValueTypeError', '{…}', 'AssetTag', '#/AssetTag']],
    ],
    [
      'a URL without its secrets',
      { Boot: { Target: 'Cd', Uri: 'ftp://u:p@h/x?t=1' } },
      [['PropertyValueFormatError', 'ftp://h/x?******', 'Uri', '#/Boot/Uri']],
    ],
    [
      'a rejected password as ******',
      { Boot: { Target: 'Cd', Password: 'two' } },
      [['PropertyValueNotInList', '******', 'Password', '#/Boot/Password']],
    ],
    [
      'the branch of a union that was meant',
      { Either: { Size: 'big', Foo: 1 } },
      [
        ['PropertyValueTypeError', 'big', 'Size', '#/Either/Size'],
        ['PropertyUnknown', 'Foo', '#/Either/Foo'],
      ],
    ],
    ['no branch of a union', { Either: 5 }, [['PropertyValueTypeError', '5', 'Either', '#/Either']]],
    ['a refinement', { Even: 3 }, [['PropertyValueError', 'Even', '#/Even']]],
    ["a refinement's own message", { Tag: 'x' }, [['PropertyValueConflict', 'Tag', 'AssetTag', '#/Tag']]],
    [
      'unknown names: one that needs escaping, and __proto__',
      JSON.parse('{"a/b~c":1,"__proto__":1}') as JsonObject,
      [
        ['PropertyUnknown', 'a/b~c', '#/a~1b~0c'],
        ['PropertyUnknown', '__proto__', '#/__proto__'],
      ],
    ],
  ])('reports %s', (_what, body, expected) => {
    expect(faults(schema, body, resource)).toEqual(expected);
  });

  it('lists at most fifty faults, followed by MaximumErrorsExceeded', () => {
    const body = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`p${index}`, 1]));
    const listed = faults(schema, body, resource);
    expect([listed.length, listed.at(-1)]).toEqual([51, ['MaximumErrorsExceeded']]);
  });

  it('shows at most 200 characters of a value', () => {
    const [fault] = faults(schema, { Boot: { Target: 'x'.repeat(5000) } }, resource);
    expect(fault?.[1]).toBe(`${'x'.repeat(200)}…`);
  });
});

describe('bodyFaults of an action', () => {
  const schema = z.strictObject({ ResetType: z.enum(['On', 'ForceOff']), Delay: z.number().min(1).optional() });

  it.each<[string, JsonObject, readonly (readonly string[])[]]>([
    ['a missing parameter', {}, [['ActionParameterMissing', 'ComputerSystem.Reset', 'ResetType', '#/ResetType']]],
    [
      'a value that is not listed',
      { ResetType: 'Bogus' },
      [['ActionParameterValueNotInList', 'Bogus', 'ResetType', 'ComputerSystem.Reset', '#/ResetType']],
    ],
    [
      'wrong type, range and name at once',
      { ResetType: true, Delay: 0, Id: 1 },
      [
        ['ActionParameterValueTypeError', 'true', 'ResetType', 'ComputerSystem.Reset', '#/ResetType'],
        ['ActionParameterValueOutOfRange', '0', 'Delay', 'ComputerSystem.Reset', '#/Delay'],
        ['ActionParameterUnknown', 'ComputerSystem.Reset', 'Id', '#/Id'],
      ],
    ],
  ])('reports %s', (_what, body, expected) => {
    expect(faults(schema, body, action)).toEqual(expected);
  });

  it.each([{}, { ResetType: 'Bogus' }])('lists the allowed values for %j', (body) => {
    const [fault] = bodyFaults(schema.safeParse(body).error?.issues ?? [], body, action);
    expect(fault && messageText(fault)).toMatch(/ Accepted: On, ForceOff\.$/);
  });
});
