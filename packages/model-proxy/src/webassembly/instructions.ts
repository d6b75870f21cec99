/**
 * An assembler for the few WebAssembly instructions that the JSON scanner uses, under the names of
 * the standard. Each instruction is a TypeScript expression, so the compiler checks the operand
 * types. The engine validates the module when it loads it.
 *
 * @see https://webassembly.github.io/spec/core/binary/instructions.html
 */

/** A WebAssembly value type. */
export type ValueType = 'i32' | 'i64' | 'v128';

/** Code that leaves one value on the stack. */
export interface Expression<T extends ValueType> {
  readonly type: T;
  readonly code: readonly number[];
}

/** Code that leaves nothing on the stack. */
export interface Statement {
  readonly code: readonly number[];
}

/** An expression of type i32. */
type I32 = Expression<'i32'>;
/** An expression of type i64. */
export type I64 = Expression<'i64'>;
/** An expression of type v128. */
export type V128 = Expression<'v128'>;

/** Encodes a number as unsigned LEB128. @param value 0 to 2^31 - 1. */
export function unsigned(value: number): readonly number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return bytes;
}

function signed(value: bigint): readonly number[] {
  const bytes: number[] = [];
  for (let rest = value; ;) {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    // Bit 6 of the last byte is the sign.
    if (rest === (low & 0x40 ? -1n : 0n)) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

type Operand = Expression<ValueType>;

const i32Of = (operands: readonly Operand[], ...code: readonly number[]): I32 => instruction('i32', operands, code);
const i64Of = (operands: readonly Operand[], ...code: readonly number[]): I64 => instruction('i64', operands, code);
/** Vector instructions have the prefix 0xfd. */
const v128Of = (operands: readonly Operand[], number: number, ...immediates: readonly number[]): V128 =>
  instruction('v128', operands, [0xfd, ...unsigned(number), ...immediates]);

function instruction<T extends ValueType>(type: T, operands: readonly Operand[], code: readonly number[]) {
  return { type, code: [...operands.flatMap((operand) => operand.code), ...code] };
}

/** Instructions on 32-bit integers. */
export const i32 = {
  const: (value: number): I32 => i32Of([], 0x41, ...signed(BigInt(value | 0))),
  /** Reads a byte of the memory as a number. */
  load8U: (at: I32): I32 => i32Of([at], 0x2d, 0, 0),
  ne: (a: I32, b: I32): I32 => i32Of([a, b], 0x47),
  ltS: (a: I32, b: I32): I32 => i32Of([a, b], 0x48),
  add: (a: I32, b: I32): I32 => i32Of([a, b], 0x6a),
  sub: (a: I32, b: I32): I32 => i32Of([a, b], 0x6b),
  or: (a: I32, b: I32): I32 => i32Of([a, b], 0x72),
  wrapI64: (a: I64): I32 => i32Of([a], 0xa7),
};

/** Instructions on 64-bit integers. */
export const i64 = {
  const: (value: bigint): I64 => i64Of([], 0x42, ...signed(BigInt.asIntN(64, value))),
  ne: (a: I64, b: I64): I32 => i32Of([a, b], 0x52),
  /** Counts the zero bits below the lowest set bit; 64 if no bit is set. */
  ctz: (a: I64): I64 => i64Of([a], 0x7a),
  sub: (a: I64, b: I64): I64 => i64Of([a, b], 0x7d),
  and: (a: I64, b: I64): I64 => i64Of([a, b], 0x83),
  or: (a: I64, b: I64): I64 => i64Of([a, b], 0x84),
  xor: (a: I64, b: I64): I64 => i64Of([a, b], 0x85),
  shl: (a: I64, b: I64): I64 => i64Of([a, b], 0x86),
  shrU: (a: I64, b: I64): I64 => i64Of([a, b], 0x88),
  extendI32U: (a: I32): I64 => i64Of([a], 0xad),
};

/** Instructions on a whole 16-byte vector. */
export const v128 = {
  /** Reads sixteen bytes at any address. @param offset is added to the address. */
  load: (at: I32, offset: number): V128 => v128Of([at], 0x00, 0, ...unsigned(offset)),
  /** @param bytes sixteen. */
  const: (bytes: readonly number[]): V128 => v128Of([], 0x0c, ...bytes),
  and: (a: V128, b: V128): V128 => v128Of([a, b], 0x4e),
  or: (a: V128, b: V128): V128 => v128Of([a, b], 0x50),
};

/** Instructions on each of the sixteen bytes of a vector. */
export const i8x16 = {
  splat: (byte: number): V128 => v128.const(Array.from({ length: 16 }, () => byte)),
  /**
   * For each byte of `indexes`, returns the table's byte at that index; 0 if the index is out of
   * range.
   */
  swizzle: (table: V128, indexes: V128): V128 => v128Of([table, indexes], 0x0e),
  /** Compares byte by byte: 0xff if equal, 0 if not. */
  eq: (a: V128, b: V128): V128 => v128Of([a, b], 0x23),
  /** Collects the highest bit of each byte; the first byte's bit becomes the lowest. */
  bitmask: (a: V128): I32 => i32Of([a], 0xfd, ...unsigned(0x64)),
  sub: (a: V128, b: V128): V128 => v128Of([a, b], 0x71),
  minU: (a: V128, b: V128): V128 => v128Of([a, b], 0x77),
};

/** A parameter or variable of a function. Variables start as 0. */
export class Local<T extends ValueType> {
  readonly type: T;
  readonly #index: readonly number[];

  constructor(type: T, index: number) {
    this.type = type;
    this.#index = unsigned(index);
  }

  get value(): Expression<T> {
    return { type: this.type, code: [0x20, ...this.#index] };
  }

  set(value: Expression<T>): Statement {
    return { code: [...value.code, 0x21, ...this.#index] };
  }

  /** Sets the variable and returns the value. */
  tee(value: Expression<T>): Expression<T> {
    return { type: this.type, code: [...value.code, 0x22, ...this.#index] };
  }
}

const END = 0x0b;
/** Block type without a result. */
const EMPTY = 0x40;

const codeOf = (statements: readonly Statement[]): readonly number[] => statements.flatMap(({ code }) => code);

/** Runs statements if the condition is not 0: `if` without `else`. */
export function when(condition: I32, then: readonly Statement[]): Statement {
  return { code: [...condition.code, 0x04, EMPTY, ...codeOf(then), END] };
}

/** Repeats statements while the condition, tested before each round, is not 0. */
export function whileTrue(condition: I32, body: readonly Statement[]): Statement {
  // `br 1` leaves the block of the `if` and jumps to the start of the loop.
  const again: Statement = { code: [0x0c, 1] };
  return { code: [0x03, EMPTY, ...when(condition, [...body, again]).code, END] };
}

/** Ends the function and returns a value. */
export function returns(value: Expression<ValueType>): Statement {
  return { code: [...value.code, 0x0f] };
}
