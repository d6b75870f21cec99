import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { webAssemblyEngine } from '../webassembly/engine.js';
import { plainRuns } from './plain-run.js';
import { CHUNK_BYTES, loadVectorSearch, VectorRuns } from './plain-run-vectors.js';
import { WordRuns, type PlainRuns } from './plain-run-words.js';

const search = loadVectorSearch(webAssemblyEngine());
if (search === null) throw new Error('this engine has no WebAssembly');
const ways: readonly (readonly [string, (bytes: Buffer) => PlainRuns])[] = [
  ['by words', (bytes) => new WordRuns(bytes)],
  ['by vectors', (bytes) => new VectorRuns(search, bytes)],
];

/** The definition of a plain run as a regular expression: slow and simple. */
const plain = /(?:[ !#-[\]-\xff]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*/y;

/**
 * Compares each run of a chunk with its definition: where it ends, and whether a backslash is in it or directly after
 * it.
 * @throws {Error} if they differ.
 */
function expectAgreement(found: (bytes: Buffer) => PlainRuns, bytes: Buffer): void {
  const text = bytes.toString('latin1');
  const runs = found(bytes);
  for (let from = 0; from <= bytes.length;) {
    plain.lastIndex = from;
    const passed = plain.exec(text)?.[0] ?? '';
    const expected = from + passed.length;
    runs.escaped = false;
    const end = runs.endFrom(from);
    const escaped = passed.includes('\\') || text[expected] === '\\';
    // expect() takes much longer than a search, and the test makes 120,000 searches.
    if (end !== expected || runs.escaped !== escaped) {
      const run = JSON.stringify({ from, end, escaped: runs.escaped });
      throw new Error(
        `${run} instead of ${JSON.stringify({ from, end: expected, escaped })} in ${JSON.stringify(text)}`,
      );
    }
    from = end + 1;
  }
}

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.nat(40).map((length) => 'x'.repeat(length)) },
  { weight: 4, arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\u0416', '\\uD83d\\uDe00') },
  { weight: 2, arbitrary: fc.constantFrom('"', '\\', '\\u', '\\u04', '\\u041g', '\\x', '\0', '\x1f') },
  // Runs of backslashes, also across the blocks that the search reads at once.
  { weight: 1, arbitrary: fc.nat(140).map((length) => '\\'.repeat(length)) },
  // Bytes next to the special bytes, and bytes that become special if one bit is lost.
  { weight: 3, arbitrary: fc.constantFrom(' !#[]\x7f', '\x80\x9f\xa0\xa2\xdc\xff', '\xa2"', '\x80\0') },
  // Long enough for the search of long strings, which is a separate code path.
  { weight: 1, arbitrary: fc.nat(1600).map((length) => 'y'.repeat(length)) },
);
const pieces = fc.array(piece, { maxLength: 40, size: 'max' }).map((list) => Buffer.from(list.join(''), 'latin1'));

describe.each(ways)('a plain run, found %s,', (_, found) => {
  it('ends at the first special byte, and contains complete escapes', () => {
    fc.assert(
      fc.property(pieces, (bytes) => expectAgreement(found, bytes)),
      { numRuns: 1000 },
    );
  });

  it('ends at the right byte at nine addresses of a chunk with zeros, quotes or backslashes around it', () => {
    const property = fc.property(pieces, fc.nat(8), fc.constantFrom(0, 0x22, 0x5c), (bytes, shift, around) => {
      const memory = Buffer.alloc(bytes.length + 32, around);
      bytes.copy(memory, shift);
      expectAgreement(found, memory.subarray(shift, shift + bytes.length));
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('ends at the right byte even if the previous chunk had the same special byte at each position', () => {
    const before = fc.constantFrom('"', '\\', '\0', 'n', 'u', '0').map((byte) => Buffer.alloc(4096, byte));
    const property = fc.property(pieces, before, (bytes, earlier) => {
      found(earlier);
      expectAgreement(found, bytes);
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('ends at the right byte for each byte at each position of a word and of a vector', () => {
    for (let byte = 0; byte < 256; byte += 1) {
      for (let at = 0; at < 70; at += 1) {
        const bytes = Buffer.alloc(70, 0x61);
        bytes[at] = byte;
        expectAgreement(found, bytes);
      }
    }
  });

  it('ends at the right byte for each byte after a backslash and at each of the four digits', () => {
    for (let byte = 0; byte < 256; byte += 1) {
      for (let place = 1; place < 7; place += 1) {
        for (const start of [0, 10, 57, 58, 59, 60, 61, 62, 63]) {
          const bytes = Buffer.alloc(80, 0x61);
          bytes.write('\\uaF09', start);
          bytes[start + place] = byte;
          expectAgreement(found, bytes);
        }
      }
    }
  });

  it('ends at an escape that the end of the chunk cuts', () => {
    for (let length = 1; length < 200; length += 1) {
      for (const escape of ['\\n', '\\u0416', '\\\\', '\\u12']) {
        for (let cut = 1; cut <= escape.length; cut += 1) {
          expectAgreement(found, Buffer.from('x'.repeat(length) + escape.slice(0, cut)));
        }
      }
    }
  });
});

describe('a plain run', () => {
  it('is found by vectors only in chunks of the sizes that sockets deliver', () => {
    const ofLength = (length: number) => plainRuns(Buffer.alloc(length)).constructor;
    expect([1_024, 4_095, 4_096, CHUNK_BYTES, CHUNK_BYTES + 1].map(ofLength)).toEqual([
      WordRuns,
      WordRuns,
      VectorRuns,
      VectorRuns,
      WordRuns,
    ]);
  });

  it('ends at the first special byte even in the last bytes of the largest chunk', () => {
    for (const tail of ['"', '\\', '\\n', '\\u041', '\\u0416', 'x']) {
      const bytes = Buffer.alloc(CHUNK_BYTES, 'x');
      bytes.write(tail, CHUNK_BYTES - tail.length);
      for (const [, found] of ways) expectAgreement(found, bytes);
    }
  });

  it('is not found by vectors if the process has no WebAssembly or no memory for it', () => {
    const refuse = (): never => {
      throw new RangeError('could not allocate memory');
    };
    class Refused {
      readonly exports = refuse();
    }
    expect(loadVectorSearch(null)).toBeNull();
    expect(loadVectorSearch({ Module: Uint8Array, Instance: Refused })).toBeNull();
  });
});
