import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { endOfPlainRun, plainRuns } from './plain-run.js';

/** The same, said as an expression: slow, and nothing in it counts bytes. */
const plain = /(?:[ !#-[\]-\xff]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*/y;

function expectAgreement(bytes: Buffer): void {
  const text = bytes.toString('latin1');
  const runs = plainRuns(bytes);
  for (let from = 0; from <= bytes.length;) {
    plain.lastIndex = from;
    const passed = plain.exec(text)?.[0] ?? '';
    runs.escaped = false;
    const end = endOfPlainRun(runs, from);
    expect([from, end, runs.escaped]).toEqual([from, from + passed.length, passed.includes('\\')]);
    from = end + 1;
  }
}

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.nat(40).map((length) => 'x'.repeat(length)) },
  { weight: 4, arbitrary: fc.constantFrom('\\n', '\\"', '\\\\', '\\/', '\\u0416', '\\uD83d\\uDe00') },
  { weight: 2, arbitrary: fc.constantFrom('"', '\\', '\\u', '\\u04', '\\u041g', '\\x', '\0', '\x1f') },
  // Neighbours of the bytes that matter, and what becomes one of them where a bit is lost.
  { weight: 3, arbitrary: fc.constantFrom(' !#[]\x7f', '\x80\x9f\xa0\xa2\xdc\xff', '\xa2"', '\x80\0') },
  // Long enough for the search of long strings, which is another.
  { weight: 1, arbitrary: fc.nat(1600).map((length) => 'y'.repeat(length)) },
);
const pieces = fc.array(piece, { maxLength: 40, size: 'max' }).map((list) => Buffer.from(list.join(''), 'latin1'));

describe('plain run', () => {
  it('ends where the first byte is that matters, whole escapes passed by (C6)', () => {
    fc.assert(fc.property(pieces, expectAgreement), { numRuns: 1000 });
  });

  it('ends there in a chunk at any address, whatever lies around it (C6)', () => {
    const property = fc.property(pieces, fc.nat(8), fc.constantFrom(0, 0x22, 0x5c), (bytes, shift, around) => {
      const memory = Buffer.alloc(bytes.length + 32, around);
      bytes.copy(memory, shift);
      expectAgreement(memory.subarray(shift, shift + bytes.length));
    });
    fc.assert(property, { numRuns: 300 });
  });

  it('sees each byte for what it is, at each place of a word (C6)', () => {
    for (let byte = 0; byte < 256; byte += 1) {
      for (let at = 0; at < 36; at += 1) {
        const bytes = Buffer.alloc(36, 0x61);
        bytes[at] = byte;
        expectAgreement(bytes);
      }
    }
  });
});
