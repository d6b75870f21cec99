import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonMember, JsonObject } from './object.js';
import { JsonObjectScanner } from './scanner.js';
import { memberEdits, spliceChunks, spliceJson, type MemberChanges } from './splice.js';

function scan(text: string, chunkBytes = 1_000_000): JsonObject {
  const scanner = new JsonObjectScanner();
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += chunkBytes) scanner.push(bytes.subarray(at, at + chunkBytes));
  return scanner.finish();
}

function change(object: JsonObject, changes: MemberChanges): string {
  return Buffer.concat(spliceJson(object, memberEdits(object, changes))).toString();
}

function named(object: JsonObject, ...keys: string[]): Set<JsonMember> {
  return new Set(object.members.filter((member) => keys.includes(member.key)));
}

describe('splicing JSON', () => {
  it('removes members with their commas at any position', () => {
    const object = scan('{ "a" : 1 , "b":2, "c":[3] }');
    const without = (...keys: string[]): string => change(object, { removed: named(object, ...keys) });
    expect(without('a')).toBe('{ "b":2, "c":[3] }');
    expect(without('b')).toBe('{ "a" : 1, "c":[3] }');
    expect(without('c')).toBe('{ "a" : 1 , "b":2 }');
    expect(without('a', 'b')).toBe('{ "c":[3] }');
    expect(without('b', 'c')).toBe('{ "a" : 1 }');
    expect(without('a', 'c')).toBe('{ "b":2 }');
    expect(without('a', 'b', 'c')).toBe('{  }');
    expect(without()).toBe('{ "a" : 1 , "b":2, "c":[3] }');
  });

  it('adds members at the end, also to an empty object and to one that lost all members', () => {
    const added = [
      ['x', '1'],
      ['y"', '[]'],
    ] as const;
    expect(change(scan('{"a":1 }'), { added })).toBe('{"a":1,"x":1,"y\\"":[] }');
    expect(change(scan('{ }'), { added })).toBe('{"x":1,"y\\"":[] }');
    const object = scan('{"a":1,"b":2}');
    expect(change(object, { added, removed: named(object, 'a', 'b') })).toBe('{"x":1,"y\\"":[]}');
    expect(change(object, { added, removed: named(object, 'b') })).toBe('{"a":1,"x":1,"y\\"":[]}');
  });

  it('gives the same object as the same changes after JSON.parse', () => {
    const fates = fc.array(fc.constantFrom('keep', 'remove', 'replace'), { maxLength: 8 });
    const property = fc.property(fates, fc.nat(3), fc.integer({ min: 1, max: 9 }), (fate, additions, chunkBytes) => {
      const object = scan(`{${fate.map((_, index) => ` "k${index}": ["v",{"x":${index}}]`).join(' ,')} }`, chunkBytes);
      const expected: Record<string, unknown> = {};
      fate.forEach((what, index) => {
        if (what !== 'remove') expected[`k${index}`] = what === 'replace' ? 'new' : ['v', { x: index }];
      });
      const added = Array.from({ length: additions }, (_, index) => [`n${index}`, String(index)] as const);
      for (const [key, text] of added) expected[key] = Number(text);
      const changed = change(object, {
        removed: new Set(object.members.filter((_, index) => fate[index] === 'remove')),
        replaced: new Map(
          object.members.filter((_, index) => fate[index] === 'replace').map((member) => [member, '"new"']),
        ),
        added,
      });
      expect(JSON.parse(changed)).toEqual(expected);
    });
    fc.assert(property, { numRuns: 500 });
  });

  it('returns views of the chunks, no copies', () => {
    const chunks = [Buffer.from('{"a":"012'), Buffer.from('345'), Buffer.from('678","b":1}')];
    const scanner = new JsonObjectScanner();
    for (const chunk of chunks) scanner.push(chunk);
    const object = scanner.finish();
    const spliced = spliceJson(object, memberEdits(object, { removed: named(object, 'b') }));
    expect(spliced.map(String)).toEqual(['{"a":"012', '345', '678"', '}']);
    expect(spliced.map((piece) => chunks.some((chunk) => chunk.buffer === piece.buffer))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(spliced[1]).toBe(chunks[1]);
  });

  it('throws for edits that overlap or lie outside of the text', () => {
    const chunks = [Buffer.from('0123456789')];
    const replacement = Buffer.from('x');
    const edit = (start: number, end: number) => ({ start, end, replacement });
    expect(() => spliceChunks(chunks, 10, [edit(2, 5), edit(4, 6)])).toThrow(RangeError);
    expect(() => spliceChunks(chunks, 10, [edit(8, 11)])).toThrow(RangeError);
    expect(() => spliceChunks(chunks, 10, [edit(5, 4)])).toThrow(RangeError);
    expect(Buffer.concat(spliceChunks(chunks, 10, [edit(5, 6), edit(2, 5), edit(10, 10)])).toString()).toBe(
      '01xx6789x',
    );
  });
});
