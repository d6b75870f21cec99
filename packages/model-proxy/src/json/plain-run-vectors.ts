/**
 * Plain runs found by the processor's vectors, 64 bytes at a time, in WebAssembly: 0.03 ns a byte where nothing matters, 0.12 in a text
 * with an escape in each line, whatever its escapes are. Chunks are copied into the module's memory (0.01 ns a byte): it is 128 KB for the
 * whole process, where blocks in it that live as long as a body would be memory that is never given back.
 *
 * Of 64 bytes, bits of an i64 tell which are backslashes, which are escaped, which end the run; the first byte's is the lowest.
 * What is put together here is what the process runs: there is no compiler and no file of bytes in between.
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
import type { PlainRuns } from './plain-run.js';

/** Chunks that fit: what Node reads of a socket at a time. */
export const CHUNK_BYTES = 65_536;
/** Room for a chunk, and for what is read behind it. */
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

/** Of 16 bytes, those that are it. */
const is = (byte: number) => (bytes: V128) => i8x16.eq(bytes, i8x16.splat(byte));

/** The letters of short escapes at the places of their lower halves: all but b and r, which share theirs with the quote. */
const letters = Array.from({ length: 16 }, () => 0xff);
for (const letter of Buffer.from('"/\\fnt')) letters[letter & 0x0f] = letter;

function isShortEscape(bytes: V128): V128 {
  const ofTable = i8x16.eq(i8x16.swizzle(v128.const(letters), v128.and(bytes, i8x16.splat(0x0f))), bytes);
  // b and r differ in one bit.
  return v128.or(ofTable, i8x16.eq(v128.or(bytes, i8x16.splat(0x10)), i8x16.splat(0x72)));
}

/**
 * The function `endFrom(from, end)`: what {@link PlainRuns.endFrom} gives, its sign set where a backslash has been met.
 * @returns the module's bytes.
 */
function assemble(): Uint8Array {
  const f = new FunctionBody();
  const from = f.parameter('i32');
  const end = f.parameter('i32');
  /** Where the 64 bytes begin, and how much of the chunk is left from there on. */
  const at = f.variable('i32');
  const left = f.variable('i32');
  /** The sign, once a backslash has been met. */
  const met = f.variable('i32');
  const quarters = [f.variable('v128'), f.variable('v128'), f.variable('v128'), f.variable('v128')] as const;
  const spare = f.variable('v128');
  /** Those of the 64 that are the chunk's: all, but at its end. */
  const valid = f.variable('i64');
  const backslashes = f.variable('i64');
  const stops = f.variable('i64');
  /** The lowest bits up to the first stop, that one too; all, where there is none. */
  const upToStop = f.variable('i64');
  const escaped = f.variable('i64');
  const escapes = f.variable('i64');
  const wrong = f.variable('i64');
  const unicode = f.variable('i64');
  /** Of the bytes before: 1 where the first of these is escaped; bits of those that have to be digits. */
  const escapedFirst = f.variable('i64');
  const digitsFirst = f.variable('i64');

  /** One bit for each of the 64 bytes. */
  const bitsOf = (test: (bytes: V128) => V128): I64 => {
    const [a, b, c, d] = quarters;
    const bits = ({ value }: typeof a) => i64.extendI32U(i8x16.bitmask(test(value)));
    return or(or(bits(a), shifted(bits(b), 16n)), or(shifted(bits(c), 32n), shifted(bits(d), 48n)));
  };
  const isAtMost = (bytes: V128, most: number) =>
    i8x16.eq(i8x16.minU(spare.tee(bytes), i8x16.splat(most)), spare.value);
  const isHex = (bytes: V128) =>
    v128.or(
      isAtMost(i8x16.sub(bytes, i8x16.splat(0x30)), 9),
      isAtMost(i8x16.sub(v128.or(bytes, i8x16.splat(0x20)), i8x16.splat(0x61)), 5),
    );
  const isStop = (bytes: V128) => v128.or(is(QUOTE)(bytes), isAtMost(bytes, LAST_CONTROL));
  const findUpToStop = upToStop.set(i64.xor(stops.value, i64.sub(stops.value, i64.const(1n))));

  /** Ends at the last backslash up to `at`: what follows it is no escape, or not whole. */
  const endAtBackslash: readonly Statement[] = [
    whileTrue(i32.ne(i32.load8U(at.value), i32.const(BACKSLASH)), [at.set(i32.sub(at.value, i32.const(1)))]),
    returns(i32.or(i32.const(-0x80000000), at.value)),
  ];

  const odd = i64.const(0xaaaa_aaaa_aaaa_aaaan);
  /**
   * Which bytes stand behind a backslash that is not escaped itself: of a row of backslashes the second, the fourth and so on, and what
   * follows a row of an odd number. Subtracting the row from itself, moved by one, leaves a borrow that runs along it, and the
   * odd places tell at which of its turns it ends: the way of simdjson.
   */
  const findEscaped: readonly Statement[] = [
    escapes.set(and(backslashes.value, not(escapedFirst.value))),
    escapes.set(i64.xor(i64.sub(or(shifted(escapes.value, 1n), odd), escapes.value), odd)),
    escaped.set(i64.xor(escapes.value, or(backslashes.value, escapedFirst.value))),
    escapedFirst.set(shiftedOut(and(escapes.value, backslashes.value), 1n)),
  ];

  const behind = unicode.value;
  /** `\u` wants four digits, some of which may be among the next 64 bytes. */
  const checkUnicode: readonly Statement[] = [
    unicode.set(and(wrong.value, valid.value, bitsOf(is(0x75)))),
    wrong.set(
      or(
        i64.xor(wrong.value, unicode.value),
        and(
          or(
            digitsFirst.value,
            or(shifted(behind, 1n), shifted(behind, 2n)),
            or(shifted(behind, 3n), shifted(behind, 4n)),
          ),
          not(and(valid.value, bitsOf(isHex))),
        ),
      ),
    ),
    digitsFirst.set(
      or(or(shiftedOut(behind, 1n), shiftedOut(behind, 2n)), or(shiftedOut(behind, 3n), shiftedOut(behind, 4n))),
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
    // Of short strings, nearly always: what stands behind them is nothing to look at yet.
    findUpToStop,
    when(isAny(or(and(backslashes.value, upToStop.value), escapedFirst.value, digitsFirst.value)), [
      ...findEscaped,
      stops.set(and(stops.value, not(escaped.value))),
      findUpToStop,
      when(isAny(and(escaped.value, upToStop.value)), [met.set(i32.const(-0x80000000))]),
      wrong.set(and(escaped.value, not(and(valid.value, bitsOf(isShortEscape))))),
      when(isAny(or(wrong.value, digitsFirst.value)), checkUnicode),
    ]),
    when(isAny(stops.value), [returns(i32.or(met.value, i32.add(at.value, i32.wrapI64(i64.ctz(stops.value)))))]),
    at.set(i32.add(at.value, i32.const(64))),
  ];

  return f.moduleOf(
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
    i32.or(met.value, end.value),
  );
}

/** The module, of which a process has one. */
export interface VectorSearch {
  readonly memory: Uint8Array;
  readonly endFrom: (from: number, end: number) => number;
}

/** @returns null: without WebAssembly or its vectors, or without the addresses that the engine sets aside for a memory (`ulimit -v`). */
export function loadVectorSearch(engine: WebAssemblyEngine | null): VectorSearch | null {
  if (engine === null) return null;
  try {
    const { exports } = new engine.Instance(new engine.Module(assemble()));
    const { memory, endFrom } = exports as { memory: { buffer: ArrayBuffer }; endFrom: VectorSearch['endFrom'] }; // of the module above
    return { memory: new Uint8Array(memory.buffer), endFrom };
  } catch {
    // There is another way to the same end, if a slower one.
    return null;
  }
}

/** The chunk that was given last to a search. */
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
