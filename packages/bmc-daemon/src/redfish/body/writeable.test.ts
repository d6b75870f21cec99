import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { JsonObject } from '../json.js';
import { withWriteableProperties, writeableOf } from './writeable.js';

const annotated = (object: JsonObject, schema: z.ZodType): JsonObject =>
  withWriteableProperties(object, writeableOf(schema));

const boot = z.strictObject({ Target: z.enum(['Pxe']).optional(), Order: z.array(z.string()).optional() });
const shown = { Id: '1', AssetTag: null, Boot: { Target: 'Pxe', Path: 'x' }, Attributes: { A: 1 }, List: [{ A: 1 }] };

describe('@Redfish.WriteableProperties', () => {
  it('is in the resource and in an object whose properties a PATCH may change, but in no list member', () => {
    const schema = z.strictObject({
      AssetTag: z.string().nullable().optional(),
      Password: z.string().optional(),
      Boot: boot.optional(),
      Attributes: z.record(z.string(), z.number()).optional(),
      List: z.array(z.strictObject({ A: z.number() })).optional(),
    });
    expect(annotated(shown, schema)).toEqual({
      ...shown,
      Boot: { ...shown.Boot, '@Redfish.WriteableProperties': ['Target', 'Order'] },
      '@Redfish.WriteableProperties': ['AssetTag', 'Password', 'Attributes', 'List'],
    });
  });

  it('lists properties behind refinements, transformations and null, and is absent if there are none', () => {
    const wrapped = boot
      .refine(() => true)
      .transform((body) => Object.keys(body))
      .nullable()
      .optional();
    expect(
      annotated(
        shown,
        z.strictObject({ Boot: wrapped }).refine(() => true),
      ),
    ).toEqual({
      ...shown,
      Boot: { ...shown.Boot, '@Redfish.WriteableProperties': ['Target', 'Order'] },
    });
    expect(annotated(shown, z.strictObject({ Boot: z.strictObject({}) }))).toEqual(shown);
    expect(
      annotated(
        shown,
        z.preprocess((body) => body, z.strictObject({ Id: z.string() })),
      ),
    ).toEqual({
      ...shown,
      '@Redfish.WriteableProperties': ['Id'],
    });
  });

  it('is absent from BIOS attributes, and lists no annotation of a request', () => {
    const schema = z.strictObject({
      Attributes: z.strictObject({ A: z.number().optional() }).optional(),
      '@Redfish.SettingsApplyTime': z.strictObject({ ApplyTime: z.string() }).optional(),
    });
    expect(annotated(shown, schema)).toEqual({
      ...shown,
      '@Redfish.WriteableProperties': ['Attributes'],
    });
  });

  it('lists an object property that GET does not show', () => {
    expect(annotated({ Id: '1' }, z.strictObject({ Boot: boot }))).toEqual({
      Id: '1',
      '@Redfish.WriteableProperties': ['Boot'],
    });
  });
});
