import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { entityTag } from '../conditions.js';
import type { Json, JsonObject } from '../json.js';
import { maximumBytes } from './expand.js';
import { parseQuery } from './parse.js';
import { selectFrom } from './select.js';
import { serialize } from './serialize.js';

const work = { step: () => Promise.resolve() };
const member = (index: number): JsonObject => ({
  '@odata.id': `/m/${index}`,
  Name: `ä "${index}" \u2028`,
  Absent: undefined,
  Empty: {},
  None: [],
  Status: { State: 'Enabled', Parts: [{ Id: 1, Name: 'x' }, null, [1, { Name: 'y' }]] },
});
const body: JsonObject = {
  '@odata.id': '/c',
  Absent: undefined,
  Name: 'C',
  Members: Array.from({ length: 2000 }, (_, index) => member(index)),
  'Members@odata.nextLink': '/c?$skip=2000',
  Empty: [],
  Links: { Deep: { Chassis: [member(1), null] } },
};

/** Returns the objects and arrays that `chosen` selects by their number, and all that contain them. */
function containers(value: Json | undefined, chosen: (index: number) => boolean): ReadonlySet<Json> {
  const found = new Set<Json>();
  let count = 0;
  const walk = (item: Json | undefined, above: readonly Json[]): void => {
    if (typeof item !== 'object' || item === null) return;
    count += 1;
    if (chosen(count)) for (const container of [...above, item]) found.add(container);
    for (const below of Object.values(item)) walk(below, [...above, item]);
  };
  walk(value, []);
  return found;
}

describe('a large answer as text', () => {
  it.each(['', '$select=Name', '$select=Members/Name,Members/Status/Parts/Id', '$select=*,Name', '$select=Nothing'])(
    'is the JSON of the selected properties, in each of three divisions into parts (%s)',
    async (query) => {
      const selection = parseQuery(query)?.select;
      const whole = JSON.stringify(selection === undefined ? body : selectFrom(body, selection));
      for (const chosen of [() => false, () => true, (index: number) => index % 3 === 0]) {
        const { pieces, bytes, etag } = await serialize(body, selection, containers(body, chosen), work);
        expect(createHash('sha256').update(Buffer.concat(pieces)).digest('hex')).toBe(
          createHash('sha256').update(whole).digest('hex'),
        );
        expect(bytes).toBe(Buffer.byteLength(whole));
        expect(etag).toBe(entityTag(whole));
      }
    },
  );

  it('comes in several pieces of less than 128 KiB', async () => {
    const { pieces } = await serialize(
      body,
      undefined,
      containers(body, () => true),
      work,
    );
    expect(pieces.length).toBeGreaterThan(3);
    for (const piece of pieces) expect(piece.length).toBeLessThan(128 * 1024);
  });

  it('is rejected with 507 above the limit, before the rest is serialized', async () => {
    const large = { Text: 'x'.repeat(maximumBytes / 8) };
    const many = { Members: Array.from({ length: 100 }, () => large) };
    let steps = 0;
    const counted = { step: () => Promise.resolve(void (steps += 1)) };
    await expect(
      serialize(
        many,
        undefined,
        containers(many, (index) => index < 3),
        counted,
      ),
    ).rejects.toMatchObject({
      status: 507,
    });
    expect(steps).toBeLessThan(30);
  });
});
