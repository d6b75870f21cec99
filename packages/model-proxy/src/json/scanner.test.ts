import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { JsonError, type JsonObject } from './object.js';
import { JsonObjectScanner, MAX_DEPTH, MAX_MEMBERS } from './scanner.js';
import { bytesBetween, valueOf } from './text.js';

/** Cuts a text at offsets. Equal offsets make empty chunks, which are tested as well. */
function cut(text: Buffer, offsets: readonly number[]): Buffer[] {
  const places = [0, ...offsets.map((offset) => offset % (text.length + 1)).sort((a, b) => a - b), text.length];
  return places.slice(1).map((place, index) => text.subarray(places[index], place));
}

function scan(chunks: readonly Buffer[]): JsonObject {
  const scanner = new JsonObjectScanner();
  for (const chunk of chunks) scanner.push(chunk);
  return scanner.finish();
}

/**
 * Decodes and parses a text with Node's own functions; undefined if either rejects it or it is not
 * an object.
 */
function parsed(text: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(text));
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function scanned(chunks: readonly Buffer[]): JsonObject | undefined {
  try {
    return scan(chunks);
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

/**
 * Compares the scanner with `JSON.parse`: whether the text is an object, and which members it has.
 */
function expectAgreement(text: Buffer, offsets: readonly number[]): void {
  const expected = parsed(text);
  const object = scanned(cut(text, offsets));
  if (expected === undefined) {
    expect(object).toBeUndefined();
    return;
  }
  if (object === undefined) throw new Error(`refused: ${text.toString()}`);
  const entries = object.members.map((member) => [member.key, valueOf(object, member)] as const);
  expect(new Map(entries)).toEqual(new Map(Object.entries(expected)));
  for (const member of object.members) {
    const key = bytesBetween(object.chunks, object.length, member.keyStart, member.valueStart).toString();
    const spelled = key.slice(0, key.lastIndexOf('"') + 1);
    expect(JSON.parse(spelled)).toBe(member.key);
    expect(member.escaped).toBe(spelled.includes('\\'));
  }
  expect(text[object.start]).toBe('{'.charCodeAt(0));
  expect(text[object.end - 1]).toBe('}'.charCodeAt(0));
}

/** Spells a value with random white space, escapes and number forms. */
function spell(value: unknown, random: () => number): string {
  const space = (): string => [' ', '', '\n', '\t\r', ''][random() % 5] ?? '';
  if (typeof value === 'string') {
    const characters = Array.from(value, (character) => {
      const plain = JSON.stringify(character).slice(1, -1);
      if (random() % 7 !== 0) return plain;
      return [...Array(character.length).keys()]
        .map((unit) => `\\u${character.charCodeAt(unit).toString(16).padStart(4, '0')}`)
        .join('');
    });
    return `"${characters.join('')}"`;
  }
  if (Array.isArray(value)) {
    return `[${space()}${value.map((item) => `${space()}${spell(item, random)}${space()}`).join(',')}]`;
  }
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(
      ([key, item]) => `${space()}${spell(key, random)}${space()}:${space()}${spell(item, random)}${space()}`,
    );
    return `{${space()}${members.join(',')}}`;
  }
  if (typeof value === 'number' && random() % 3 === 0) return value.toExponential();
  return JSON.stringify(value);
}

function generator(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state >> 8;
  };
}

const offsets = fc.array(fc.nat(100_000), { maxLength: 12 });
const longString = fc
  .tuple(fc.string({ unit: 'binary', maxLength: 12 }), fc.nat(3000), fc.string({ unit: 'grapheme', maxLength: 5 }))
  .map(([head, length, tail]) => head + 'QUJD'.repeat(length) + tail);
const value = fc.letrec<{ tree: unknown; leaf: unknown }>((tie) => ({
  leaf: fc.oneof(
    fc.string({ unit: 'binary' }),
    longString,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
  ),
  tree: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    tie('leaf'),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(fc.string({ unit: 'binary', maxLength: 8 }), tie('tree'), { maxKeys: 4 }),
  ),
})).tree;
const text = fc
  .tuple(fc.dictionary(fc.string({ unit: 'binary', maxLength: 8 }), value, { maxKeys: 6 }), fc.nat())
  .map(([object, seed]) => Buffer.from(spell(object, generator(seed))));

const malformed = [
  '',
  ' ',
  '{',
  '}',
  '{}{}',
  '{},',
  '[]',
  '"a"',
  '1',
  'null',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{,}',
  '{,"a":1}',
  '{"a":1,,"b":2}',
  '{"a" 1}',
  '{"a"::1}',
  '{a:1}',
  "{'a':1}",
  '{1:1}',
  '{"a":[}',
  '{"a":[1,]}',
  '{"a":[,1]}',
  '{"a":[1 2]}',
  '{"a":{]}',
  '{"a":[}]',
  '{"a":01}',
  '{"a":-}',
  '{"a":-01}',
  '{"a":+1}',
  '{"a":.5}',
  '{"a":1.}',
  '{"a":1.e5}',
  '{"a":1e}',
  '{"a":1e+}',
  '{"a":1e1.5}',
  '{"a":0x10}',
  '{"a":1_0}',
  '{"a":--1}',
  '{"a":NaN}',
  '{"a":Infinity}',
  '{"a":-Infinity}',
  '{"a":undefined}',
  '{"a":tru}',
  '{"a":truee}',
  '{"a":True}',
  '{"a":nul}',
  '{"a":n}',
  '{"a":"',
  '{"a":"\\"}',
  '{"a":"\\x"}',
  '{"a":"\\u12"}',
  '{"a":"\\u12g4"}',
  '{"a":"\n"}',
  '{"a":"\t"}',
  '{"a":"\0"}',
  '{"a\n":1}',
  '{"a":1}\0',
  '{"a":1} x',
  '{"a":1}//',
  '/* */{}',
  '\ufeff{}',
  '{}\ufeff',
  '{"a":1\u00a0}',
  '{\f}',
  '{\v"a":1}',
  '{"a":1}\u2028',
  '{"a":"x"y}',
  '{"a":1 "b":2}',
  '{"a":12-3}',
  '{"a":1e5e5}',
  '{"a":true,false}',
].map((line) => Buffer.from(line));

const wellFormed = [
  '{}',
  ' \t\r\n{ } \n',
  '{"":""}',
  '{"a":0}',
  '{"a":-0}',
  '{"a":-0.0e-0}',
  '{"a":1E5}',
  '{"a":1e+5}',
  '{"a":0.10e-2,"b":10}',
  '{"a":[[],{},[[]]]}',
  '{"a":"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\ude00\\ud800"}',
  '{"a":"\u007f\u0080é漢😀"}',
  '{"a":1,"a":2}',
  '{"mod\\u0065l":"x"}',
  '{"a":{"a":{"a":[true,false,null]}}}',
  '{"é":1,"\\u00e9":2}',
  '{"a":1}',
  '{"__proto__x":{"b":[1]}}',
].map((line) => Buffer.from(line));

describe('the JSON scanner', () => {
  it('accepts and rejects the same texts as JSON.parse, wherever they are cut in two', () => {
    for (const line of [...malformed, ...wellFormed]) {
      for (let offset = 0; offset <= line.length; offset++) expectAgreement(line, [offset]);
      expectAgreement(line, [...line.keys()]);
    }
    expect(malformed.map((line) => parsed(line))).toEqual(malformed.map(() => undefined));
    expect(wellFormed.map((line) => typeof parsed(line))).toEqual(wellFormed.map(() => 'object'));
  });

  it('reads large chunks like small ones, wherever the text is cut in two', () => {
    // Each test text continues the object that `front` begins.
    const front = `{"front":"${'x'.repeat(5_000)}"`;
    const fault = (chunks: readonly Buffer[]): JsonError | undefined => {
      try {
        scan(chunks);
      } catch (error) {
        if (error instanceof JsonError) return error;
        throw error;
      }
      return undefined;
    };
    for (const line of [...malformed, ...wellFormed]) {
      const rest = line.toString('latin1').replace(/^\s*\{\s*/, '');
      const text = Buffer.from(`${front}${rest.startsWith('}') ? '' : ','}${rest}${' '.repeat(5_000)}`, 'latin1');
      const small = Array.from({ length: Math.ceil(text.length / 1_000) }, (_, at) => (at + 1) * 1_000);
      const expected = fault(cut(text, small));
      for (let offset = front.length; offset <= text.length - 5_000; offset++) {
        expectAgreement(text, [offset]);
        const found = fault(cut(text, [offset]));
        expect([line.toString(), found?.message, found?.offset]).toEqual([
          line.toString(),
          expected?.message,
          expected?.offset,
        ]);
      }
    }
  });

  it('finds the members of random objects in random chunks', () => {
    fc.assert(
      fc.property(text, offsets, (line, places) => expectAgreement(line, places)),
      { numRuns: 200 },
    );
  });

  it('agrees with JSON.parse about texts with one byte changed, removed or inserted', () => {
    const byte = fc.oneof(
      fc.constantFrom(...Buffer.from('{}[]",:\\ue0123.-+tfn \n\t\0/')),
      fc.integer({ min: 0, max: 255 }),
    );
    const mutation = fc.tuple(fc.nat(), byte, fc.constantFrom('change', 'remove', 'insert', 'end'), offsets);
    const mutations = fc.array(mutation, { minLength: 40, maxLength: 40, size: 'max' });
    const property = fc.property(text, mutations, (line, list) => {
      for (const [place, put, how, places] of list) {
        const at = place % line.length;
        const middle = how === 'change' || how === 'insert' ? Buffer.of(put) : Buffer.alloc(0);
        const tail = how === 'end' ? Buffer.alloc(0) : line.subarray(how === 'insert' ? at : at + 1);
        expectAgreement(Buffer.concat([line.subarray(0, at), middle, tail]), places);
      }
    });
    fc.assert(property, { numRuns: 75 });
  });

  it('finds a control character, a quote and an escape anywhere in a long string', () => {
    const plain = Buffer.from(`{"a":"${'x'.repeat(1500)}","b":1}`);
    for (let at = 6; at < 1506; at += 1) {
      for (const bad of [0x00, 0x1f, 0x22, 0x5c]) {
        const spoiled = Buffer.from(plain);
        spoiled[at] = bad;
        expect(scanned([spoiled])).toBeUndefined();
      }
      const escaped = Buffer.from(plain);
      escaped.write('\\n', at === 1505 ? 1504 : at);
      expect(scanned([escaped])?.members.length).toBe(2);
    }
  });

  it('reads chunks that begin at eight addresses in a row', () => {
    const line = Buffer.from(`{"a":"${'é'.repeat(40)}${'y'.repeat(900)}","b":[1,2,3]}`);
    for (let shift = 0; shift < 8; shift++) {
      const memory = Buffer.alloc(line.length + shift, 0x22);
      line.copy(memory, shift);
      expectAgreement(memory.subarray(shift), []);
    }
  });

  it('rejects bytes that are not UTF-8, wherever they are cut', () => {
    const bad = [
      [0x80],
      [0xc0, 0xaf],
      [0xc3],
      [0xe2, 0x82],
      [0xed, 0xa0, 0x80],
      [0xf0, 0x9f, 0x98],
      [0xf5, 0x80, 0x80, 0x80],
      [0xff],
      [0xe2, 0x28, 0xa1],
    ];
    for (const bytes of bad) {
      for (const behind of ['"}', 'x"}', 'é"}', '']) {
        const line = Buffer.concat([Buffer.from('{"a":"'), Buffer.from(bytes), Buffer.from(behind)]);
        for (let offset = 0; offset <= line.length; offset++) expectAgreement(line, [offset, offset + 1]);
        expectAgreement(line, [...line.keys()]);
        expect(parsed(line)).toBeUndefined();
      }
    }
  });

  it('reports the last byte of the first sequence that is not UTF-8, wherever the text before it is cut', () => {
    const line = Buffer.from('{"a":"éé€x');
    for (const wrong of [[0xff], [0xc3, 0x28], [0xed, 0xa0, 0x80]]) {
      const text = Buffer.concat([line, Buffer.from(wrong), Buffer.from('y"}')]);
      for (let cut = 0; cut <= line.length; cut++) {
        const scanner = new JsonObjectScanner();
        let offset = -1;
        try {
          for (const chunk of [text.subarray(0, cut), text.subarray(cut)]) scanner.push(chunk);
        } catch (error) {
          if (error instanceof JsonError) offset = error.offset;
        }
        expect([wrong, cut, offset]).toEqual([wrong, cut, line.length + wrong.length - 1]);
      }
    }
  });

  it('rejects the first faulty chunk, with the fault and its position', () => {
    const at = (chunks: string[]): [number, string, number] | undefined => {
      const scanner = new JsonObjectScanner();
      for (const [index, chunk] of chunks.entries()) {
        try {
          scanner.push(Buffer.from(chunk));
        } catch (error) {
          if (error instanceof JsonError) return [index, error.message, error.offset];
          throw error;
        }
      }
      return undefined;
    };
    expect(at(['{"a":', '1;', '}'])).toEqual([1, 'expected "," or "}", found ";"', 6]);
    expect(at(['{"a":[1', '}'])).toEqual([1, 'expected "," or "]", found "}"', 7]);
    expect(at(['[1]'])).toEqual([0, 'expected an object, found "["', 0]);
    expect(at(['\ufeff{}'])).toEqual([0, 'expected an object, found byte 0xef', 0]);
    expect(at(['{"a":tRue'])).toEqual([0, 'expected true, false or null, found "R"', 6]);
    expect(at(['{"a":-', 'x'])).toEqual([1, 'expected a digit, found "x"', 6]);
    expect(at(['{"a', '\n'])).toEqual([1, 'control characters in strings must be escaped, found byte 0x0a', 3]);
    expect(at(['{} ', ' x'])).toEqual([1, 'expected nothing after the object, found "x"', 4]);
  });

  it('distinguishes an empty text from an incomplete text', () => {
    const message = (line: string): string => {
      try {
        scan([Buffer.from(line)]);
      } catch (error) {
        if (error instanceof JsonError) return error.message;
      }
      return 'accepted';
    };
    expect([' ', '{"a":1', '{"a":"b'].map(message)).toEqual([
      'the text is empty',
      'the text breaks off',
      'the text breaks off',
    ]);
  });

  it('rejects more than MAX_DEPTH levels, and more than MAX_MEMBERS members', () => {
    const nested = (depth: number): Buffer => Buffer.from(`{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`);
    const wide = (count: number): Buffer => Buffer.from(`{${Array.from({ length: count }, () => '"a":1').join(',')}}`);
    expect(scanned([nested(MAX_DEPTH)])?.members.length).toBe(1);
    expect(scanned([nested(MAX_DEPTH + 1)])).toBeUndefined();
    expect(scanned([wide(MAX_MEMBERS)])?.members.length).toBe(MAX_MEMBERS);
    expect(scanned([wide(MAX_MEMBERS + 1)])).toBeUndefined();
  });

  it('reports whether a name is spelled with escapes, independent of its value', () => {
    const object = scan([Buffer.from('{"mod\\u0065l":"a","model":"b\\n","x":{"\\u0061":1}}')]);
    expect(object.members.map(({ key, escaped }) => [key, escaped])).toEqual([
      ['model', true],
      ['model', false],
      ['x', false],
    ]);
  });

  it('reports each long text as one range, also if chunks cut it', () => {
    const image = 'a'.repeat(40_000);
    const text = Buffer.from(`{"short":"abc","url":"${image}","more":["${image}"]}`);
    const places = [text.indexOf('"aaa') + 1, text.lastIndexOf('"aaa') + 1].map((start) => ({
      start,
      end: start + image.length,
    }));
    expect(scan([text]).longTexts).toEqual(places);
    expect(scan(cut(text, [20_000, 30_000, 55_000])).longTexts).toEqual(places);
  });

  it('reports which names nested objects may have: all names if one of them is escaped or cut', () => {
    const text = Buffer.from('{"file":1,"messages":[{"role":"user","content":[{"image_url":{}}]}]}');
    const names = ['file', 'role', 'content', 'image_url', 'thinking_blocks', 'strict'];
    const known = (object: JsonObject) => names.filter((name) => object.innerKeys.mayHave(name));
    expect(known(scan([text]))).toEqual(['role', 'content', 'image_url']);
    expect(known(scan(cut(text, [text.indexOf('age_url')])))).toEqual(names);
    expect(known(scan([Buffer.from('{"a":{"\\u0066ile":1}}')]))).toEqual(names);
    expect(known(scan([Buffer.from('{"a":{"x":1}}')]))).toEqual([]);
  });
});
