/**
 * Searches for the end of a plain run ({@link PlainRuns.endFrom} defines it) with vector
 * instructions in WebAssembly, 64 bytes at a time:
 * 0.03 ns per byte in plain text, 0.12 ns in text with an escape in each line. The chunk is copied
 * into the module's memory first (0.01 ns per byte). That memory is 128 KB for the whole process.
 * Receiving into it directly would save the copy, but WebAssembly memory cannot shrink, and a body
 * may be large.
 *
 * For each block of 64 bytes, i64 bit masks mark the backslashes, the escaped bytes and the bytes
 * that end the run. The lowest bit belongs to the first byte. This file assembles the module when
 * the process needs it, so there is no compiler and no binary file (docs/decisions/012).
 */
import type { WebAssemblyEngine } from '../webassembly/engine.js';
import {
  i32,
  i64,
  i8x16,
  returns,
  v128,
  when,
  whileTrue,
  type I64,
  type Statement,
  type V128,
} from '../webassembly/instructions.js';
import { FunctionBody } from '../webassembly/module.js';
import type { PlainRuns } from './plain-run-words.js';

/** Largest chunk that fits: Node reads at most this much from a socket at a time. */
export const CHUNK_BYTES = 65_536;
/** WebAssembly pages of 64 KB: memory for a chunk, plus the bytes that a load of 64 bytes reads after it. */
const PAGES = 2;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const LAST_CONTROL = 0x1f;

const and = (first: I64, ...more: readonly I64[]) => more.reduce(i64.and, first);
const or = (first: I64, ...more: readonly I64[]) => more.reduce(i64.or, first);
const not = (a: I64) => i64.xor(a, i64.const(-1n));
const isAny = (a: I64) => i64.ne(a, i64.const(0n));
const shifted = (a: I64, by: bigint) => i64.shl(a, i64.const(by));
const shiftedOut = (a: I64, by: bigint) => i64.shrU(a, i64.const(64n - by));

/** Compares each of 16 bytes with a byte. */
const is = (byte: number) => (bytes: V128) => i8x16.eq(bytes, i8x16.splat(byte));

/**
 * A lookup table: the lower half of a byte → the character of a short escape. Without `b` and `r`,
 * whose lower half is that of the quote.
 */
const shortEscapes = Array.from({ length: 16 }, () => 0xff);
for (const character of Buffer.from('"/\\fnt')) shortEscapes[character & 0x0f] = character;

/** Compares each of 16 bytes with the letters of short escapes. */
function shortEscapesIn(bytes: V128): V128 {
  const inTable = i8x16.eq(i8x16.swizzle(v128.const(shortEscapes), v128.and(bytes, i8x16.splat(0x0f))), bytes);
  // b and r differ in one bit.
  return v128.or(inTable, i8x16.eq(v128.or(bytes, i8x16.splat(0x10)), i8x16.splat(0x72)));
}

/**
 * Assembles a module with the function `endFrom(from, end)`. It returns what
 * {@link PlainRuns.endFrom} returns, with the sign bit set if it met a backslash.
 * @returns the module's bytes.
 */
function assemble(): Uint8Array {
  const f = new FunctionBody();
  const from = f.parameter('i32');
  const end = f.parameter('i32');
  /** Start of the block of 64 bytes. */
  const at = f.variable('i32');
  /** Number of bytes of the chunk from {@link at} on. */
  const left = f.variable('i32');
  /** The sign bit if the search has met a backslash, otherwise 0. */
  const passedBackslash = f.variable('i32');
  const quarters = [f.variable('v128'), f.variable('v128'), f.variable('v128'), f.variable('v128')] as const;
  const spare = f.variable('v128');
  /** The bytes of the block that belong to the chunk: all of them, except in the last block. */
  const valid = f.variable('i64');
  const backslashes = f.variable('i64');
  const stops = f.variable('i64');
  /** All bits up to and including the first stop; all bits if there is no stop. */
  const upToStop = f.variable('i64');
  const escaped = f.variable('i64');
  const escapes = f.variable('i64');
  const wrong = f.variable('i64');
  const unicode = f.variable('i64');
  /** Result of the block before: 1 if this block's first byte is escaped. */
  const escapedFirst = f.variable('i64');
  /** Result of the block before: the bytes of this block that must be hexadecimal digits. */
  const digitsFirst = f.variable('i64');

  /** Makes a mask with one bit for each of the 64 bytes. */
  const bitsOf = (test: (bytes: V128) => V128): I64 => {
    const [a, b, c, d] = quarters;
    const bits = ({ value }: typeof a) => i64.extendI32U(i8x16.bitmask(test(value)));
    return or(or(bits(a), shifted(bits(b), 16n)), or(shifted(bits(c), 32n), shifted(bits(d), 48n)));
  };
  const isAtMost = (bytes: V128, max: number) => i8x16.eq(i8x16.minU(spare.tee(bytes), i8x16.splat(max)), spare.value);
  const isHex = (bytes: V128) =>
    v128.or(
      isAtMost(i8x16.sub(bytes, i8x16.splat(0x30)), 9),
      isAtMost(i8x16.sub(v128.or(bytes, i8x16.splat(0x20)), i8x16.splat(0x61)), 5),
    );
  const isStop = (bytes: V128) => v128.or(is(QUOTE)(bytes), isAtMost(bytes, LAST_CONTROL));
  const findUpToStop = upToStop.set(i64.xor(stops.value, i64.sub(stops.value, i64.const(1n))));

  /** Returns the position of the last backslash up to `at`, which starts an escape that is invalid or incomplete. */
  const endAtBackslash: readonly Statement[] = [
    whileTrue(i32.ne(i32.load8U(at.value), i32.const(BACKSLASH)), [at.set(i32.sub(at.value, i32.const(1)))]),
    returns(i32.or(i32.const(-0x80000000), at.value)),
  ];

  const odd = i64.const(0xaaaa_aaaa_aaaa_aaaan);
  /**
   * Marks the bytes that follow a backslash which is not escaped itself. In a run of backslashes
   * these are the second, the fourth and so on, and the byte after a run of odd length. Subtracting
   * the run from itself shifted by one makes a borrow travel along the run. Comparing with the odd
   * positions then shows whether the run ends on an odd or an even position. The method is
   * simdjson's (Langdale and Lemire, "Parsing Gigabytes of JSON per Second", 2019).
   */
  const findEscaped: readonly Statement[] = [
    escapes.set(and(backslashes.value, not(escapedFirst.value))),
    escapes.set(i64.xor(i64.sub(or(shifted(escapes.value, 1n), odd), escapes.value), odd)),
    escaped.set(i64.xor(escapes.value, or(backslashes.value, escapedFirst.value))),
    escapedFirst.set(shiftedOut(and(escapes.value, backslashes.value), 1n)),
  ];

  /** The bytes `u` of `\u`. */
  const letters = unicode.value;
  /** `\u` needs four digits, some of which may lie in the next block. */
  const checkUnicode: readonly Statement[] = [
    unicode.set(and(wrong.value, valid.value, bitsOf(is(0x75)))),
    wrong.set(
      or(
        i64.xor(wrong.value, unicode.value),
        and(
          or(
            digitsFirst.value,
            or(shifted(letters, 1n), shifted(letters, 2n)),
            or(shifted(letters, 3n), shifted(letters, 4n)),
          ),
          not(and(valid.value, bitsOf(isHex))),
        ),
      ),
    ),
    digitsFirst.set(
      or(or(shiftedOut(letters, 1n), shiftedOut(letters, 2n)), or(shiftedOut(letters, 3n), shiftedOut(letters, 4n))),
    ),
    wrong.set(and(wrong.value, upToStop.value)),
    when(isAny(wrong.value), [
      at.set(i32.add(at.value, i32.sub(i32.wrapI64(i64.ctz(wrong.value)), i32.const(1)))),
      ...endAtBackslash,
    ]),
  ];

  const step: readonly Statement[] = [
    ...quarters.map((quarter, index) => quarter.set(v128.load(at.value, 16 * index))),
    backslashes.set(bitsOf(is(BACKSLASH))),
    stops.set(bitsOf(isStop)),
    left.set(i32.sub(end.value, at.value)),
    valid.set(i64.const(-1n)),
    when(i32.ltS(left.value, i32.const(64)), [
      valid.set(i64.sub(i64.shl(i64.const(1n), i64.extendI32U(left.value)), i64.const(1n))),
      backslashes.set(and(backslashes.value, valid.value)),
      stops.set(and(stops.value, valid.value)),
    ]),
    // Fast path for short strings: ignore backslashes after the first stop.
    findUpToStop,
    when(isAny(or(and(backslashes.value, upToStop.value), escapedFirst.value, digitsFirst.value)), [
      ...findEscaped,
      stops.set(and(stops.value, not(escaped.value))),
      findUpToStop,
      when(isAny(and(escaped.value, upToStop.value)), [passedBackslash.set(i32.const(-0x80000000))]),
      wrong.set(and(escaped.value, not(and(valid.value, bitsOf(shortEscapesIn))))),
      when(isAny(or(wrong.value, digitsFirst.value)), checkUnicode),
    ]),
    when(isAny(stops.value), [
      returns(i32.or(passedBackslash.value, i32.add(at.value, i32.wrapI64(i64.ctz(stops.value))))),
    ]),
    at.set(i32.add(at.value, i32.const(64))),
  ];

  return f.encodeModule(
    'endFrom',
    PAGES,
    [
      at.set(from.value),
      whileTrue(i32.ltS(at.value, end.value), step),
      when(isAny(or(escapedFirst.value, digitsFirst.value)), [
        at.set(i32.sub(end.value, i32.const(1))),
        ...endAtBackslash,
      ]),
    ],
    i32.or(passedBackslash.value, end.value),
  );
}

/** The running module. A process has one. */
export interface VectorSearch {
  readonly memory: Uint8Array;
  readonly endFrom: (from: number, end: number) => number;
}

/**
 * Loads the module.
 * @returns null without WebAssembly or its vectors, or if `ulimit -v` leaves too few addresses for
 * its memory.
 */
export function loadVectorSearch(engine: WebAssemblyEngine | null): VectorSearch | null {
  if (engine === null) return null;
  try {
    const { exports } = new engine.Instance(new engine.Module(assemble()));
    // The exports of the module that `assemble` makes.
    const { memory, endFrom } = exports as { memory: { buffer: ArrayBuffer }; endFrom: VectorSearch['endFrom'] };
    return { memory: new Uint8Array(memory.buffer), endFrom };
  } catch {
    // The caller falls back to the slower search by words.
    return null;
  }
}

/** The search in the chunk that was copied last. */
export class VectorRuns implements PlainRuns {
  escaped = false;
  readonly #endFrom: VectorSearch['endFrom'];
  readonly #length: number;

  /** @param bytes at most {@link CHUNK_BYTES}. */
  constructor({ memory, endFrom }: VectorSearch, bytes: Buffer) {
    memory.set(bytes);
    this.#endFrom = endFrom;
    this.#length = bytes.length;
  }

  endFrom(from: number): number {
    const found = this.#endFrom(from, this.#length);
    if (found >= 0) return found;
    this.escaped = true;
    return found & 0x7fffffff;
  }
}
