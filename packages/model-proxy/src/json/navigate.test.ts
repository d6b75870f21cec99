import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { findLastMember } from './last-member.js';
import { arrayElements, findValue, objectMembers, skipValue } from './navigate.js';

const value = fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' });

/**
 * Writes a value as JSON, with the escape `\/`, which JSON.stringify does not write.
 */
function spell(text: unknown, indent: number): Buffer {
  return Buffer.from(JSON.stringify(text, undefined, indent).replaceAll('/', '\\/'));
}

const names = ['model', 'usage', 'a"b', '\\', 'é', 'data'];
const object = fc.dictionary(
  fc.constantFrom(...names),
  fc.oneof(value, fc.constantFrom('\\', '"', '\\"', '{', '}', 'x'.repeat(200))),
);

describe('navigating JSON', () => {
  it('finds the same members and elements as JSON.parse', () => {
    fc.assert(
      fc.property(object, fc.array(value), fc.nat(3), (members, elements, indent) => {
        const text = spell(members, indent);
        const found = objectMembers(text, 0, text.length);
        const entries = found?.map(({ key, valueStart, valueEnd }) => [
          key,
          JSON.parse(text.toString('utf8', valueStart, valueEnd)) as unknown,
        ]);
        expect(entries).toEqual(Object.entries(JSON.parse(text.toString()) as object));
        const list = spell(elements, indent);
        const spans = arrayElements(list, 0, list.length);
        expect(spans?.map(({ start, end }) => JSON.parse(list.toString('utf8', start, end)) as unknown)).toEqual(
          JSON.parse(list.toString()),
        );
        expect(skipValue(text, 0, text.length)).toBe(text.length);
      }),
      { numRuns: 300 },
    );
  });

  it('finds a value by its path, and a member from the end of the text', () => {
    fc.assert(
      fc.property(object, fc.constantFrom('model', 'usage', 'data'), fc.nat(3), (members, name, indent) => {
        const text = Buffer.concat([
          Buffer.from(' \n'),
          spell({ outer: members, ...members }, indent),
          Buffer.from('\n'),
        ]);
        const expected = Object.hasOwn(members, name) ? [JSON.parse(JSON.stringify(members[name])) as unknown] : [];
        const read = (span: { start: number; end: number } | undefined): unknown[] =>
          span === undefined ? [] : [JSON.parse(text.toString('utf8', span.start, span.end))];
        expect(read(findValue(text, 0, text.length, [name]))).toEqual(expected);
        expect(read(findValue(text, 0, text.length, ['outer', name]))).toEqual(expected);
        expect(read(findLastMember(text, name))).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });

  it('reads no further than its limit, and ignores values that the limit cuts', () => {
    const text = Buffer.from('{"id":"x\\"","n":12,"model":"gpt","t":true}');
    const whole = (name: string): number => text.indexOf(`"${name}"`) + name.length + 3;
    const found = (name: string, end: number): boolean => findValue(text, 0, end, [name]) !== undefined;
    for (const [name, length] of [
      ['id', 5],
      ['model', 5],
    ] as const) {
      for (let end = 0; end <= text.length; end++) expect(found(name, end)).toBe(end >= whole(name) + length);
    }
    // At the limit, 12 may be the beginning of 123.
    for (let end = 0; end <= text.length; end++) expect(found('n', end)).toBe(end > whole('n') + 2);
    expect(findValue(text, 0, text.length, ['model', 'deeper'])).toBeUndefined();
    expect(findValue(text, 0, text.length, ['absent'])).toBeUndefined();
  });

  it('finds only ranges inside of the text, even if the text is cut or changed and is not JSON', () => {
    fc.assert(
      fc.property(object, fc.nat(), fc.integer({ min: 0, max: 255 }), fc.boolean(), (members, place, byte, cut) => {
        const text = spell({ model: 'x', ...members }, 0);
        const at = place % text.length;
        const bytes = cut ? text.subarray(0, at) : Buffer.from(text);
        if (!cut) bytes[at] = byte;
        for (const span of [findValue(bytes, 0, bytes.length, ['model']), findLastMember(bytes, 'model')]) {
          if (span === undefined) continue;
          expect(span.start).toBeLessThan(span.end);
          expect(span.end).toBeLessThanOrEqual(bytes.length);
        }
        const entries = objectMembers(bytes, 0, bytes.length) ?? [];
        for (const { valueStart, valueEnd } of entries) expect(valueStart).toBeLessThan(valueEnd);
      }),
      { numRuns: 1000 },
    );
  });

  it('finds no member without a value', () => {
    for (const text of ['{"model":}', '{"model":,"a":1}', '{"model": ,"a":1}', '{"a":1,"model": }']) {
      const bytes = Buffer.from(text);
      expect(findLastMember(bytes, 'model')).toBeUndefined();
      expect(findValue(bytes, 0, bytes.length, ['model'])).toBeUndefined();
    }
  });

  it('finds a member from the end when the beginning of the object is missing', () => {
    const text = Buffer.from('{"data":["a\\\\","b\\"c",[1]],"model" : "m" , "usage":{"model":"no"}}');
    for (let start = 0; start < text.length; start++) {
      const tail = text.subarray(start);
      const span = findLastMember(tail, 'model');
      const expected = start < text.indexOf('"model" :') ? '"m"' : undefined;
      expect(span && tail.toString('utf8', span.start, span.end)).toBe(expected);
    }
    expect(findLastMember(text.subarray(0, text.length - 3), 'model')).toBeUndefined();
    expect(findLastMember(Buffer.from('[1,2]'), 'model')).toBeUndefined();
  });
});
