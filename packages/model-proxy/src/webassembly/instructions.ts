/**
 * WebAssembly as expressions of TypeScript: the few instructions that are used here, by the names that the standard gives them. The
 * compiler sees to it that an i64 is put where an i64 belongs; what it can not see, the engine does when it takes the module.
 *
 * @see https://webassembly.github.io/spec/core/binary/instructions.html
 */

export type ValueType = 'i32' | 'i64' | 'v128';

/** Instructions that leave one value. */
export interface Expression<T extends ValueType> {
  readonly type: T;
  readonly code: readonly number[];
}

/** Instructions that leave nothing. */
export interface Statement {
  readonly code: readonly number[];
}

export type I32 = Expression<'i32'>;
export type I64 = Expression<'i64'>;
export type V128 = Expression<'v128'>;

/** A number in LEB128. @param value below 2^31, not negative. */
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
    // The last one's second bit is the sign.
    if (rest === (low & 0x40 ? -1n : 0n)) return [...bytes, low];
    bytes.push(low | 0x80);
  }
}

type Operand = Expression<ValueType>;

const i32Of = (operands: readonly Operand[], ...code: readonly number[]): I32 => instruction('i32', operands, code);
const i64Of = (operands: readonly Operand[], ...code: readonly number[]): I64 => instruction('i64', operands, code);
/** Those of vectors have a prefix. */
const v128Of = (operands: readonly Operand[], number: number, ...immediates: readonly number[]): V128 =>
  instruction('v128', operands, [0xfd, ...unsigned(number), ...immediates]);

function instruction<T extends ValueType>(type: T, operands: readonly Operand[], code: readonly number[]) {
  return { type, code: [...operands.flatMap((operand) => operand.code), ...code] };
}

export const i32 = {
  const: (value: number): I32 => i32Of([], 0x41, ...signed(BigInt(value | 0))),
  /** One byte of the memory, as a number. */
  load8U: (at: I32): I32 => i32Of([at], 0x2d, 0, 0),
  ne: (a: I32, b: I32): I32 => i32Of([a, b], 0x47),
  ltS: (a: I32, b: I32): I32 => i32Of([a, b], 0x48),
  add: (a: I32, b: I32): I32 => i32Of([a, b], 0x6a),
  sub: (a: I32, b: I32): I32 => i32Of([a, b], 0x6b),
  or: (a: I32, b: I32): I32 => i32Of([a, b], 0x72),
  wrapI64: (a: I64): I32 => i32Of([a], 0xa7),
};

export const i64 = {
  const: (value: bigint): I64 => i64Of([], 0x42, ...signed(BigInt.asIntN(64, value))),
  ne: (a: I64, b: I64): I32 => i32Of([a, b], 0x52),
  /** How many of the lowest bits are not set. */
  ctz: (a: I64): I64 => i64Of([a], 0x7a),
  sub: (a: I64, b: I64): I64 => i64Of([a, b], 0x7d),
  and: (a: I64, b: I64): I64 => i64Of([a, b], 0x83),
  or: (a: I64, b: I64): I64 => i64Of([a, b], 0x84),
  xor: (a: I64, b: I64): I64 => i64Of([a, b], 0x85),
  shl: (a: I64, b: I64): I64 => i64Of([a, b], 0x86),
  shrU: (a: I64, b: I64): I64 => i64Of([a, b], 0x88),
  extendI32U: (a: I32): I64 => i64Of([a], 0xad),
};

export const v128 = {
  /** Sixteen bytes of the memory, wherever they lie. @param offset is added to the address. */
  load: (at: I32, offset: number): V128 => v128Of([at], 0x00, 0, ...unsigned(offset)),
  /** @param bytes sixteen. */
  const: (bytes: readonly number[]): V128 => v128Of([], 0x0c, ...bytes),
  and: (a: V128, b: V128): V128 => v128Of([a, b], 0x4e),
  or: (a: V128, b: V128): V128 => v128Of([a, b], 0x50),
};

/** Vectors as sixteen bytes. */
export const i8x16 = {
  splat: (byte: number): V128 => v128.const(Array.from({ length: 16 }, () => byte)),
  /** Of each byte of `places`, the byte of the table at that place; 0 where there is none. */
  swizzle: (table: V128, places: V128): V128 => v128Of([table, places], 0x0e),
  /** All bits of a byte where the two are equal, none where they are not. */
  eq: (a: V128, b: V128): V128 => v128Of([a, b], 0x23),
  /** The highest bit of each byte, the first one's lowest. */
  bitmask: (a: V128): I32 => i32Of([a], 0xfd, ...unsigned(0x64)),
  sub: (a: V128, b: V128): V128 => v128Of([a, b], 0x71),
  minU: (a: V128, b: V128): V128 => v128Of([a, b], 0x77),
};

/** A parameter or a variable of a function; a variable is 0 at first. */
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

  /** Sets it, and is what it was set to. */
  tee(value: Expression<T>): Expression<T> {
    return { type: this.type, code: [...value.code, 0x22, ...this.#index] };
  }
}

const END = 0x0b;
/** Blocks leave no value. */
const EMPTY = 0x40;

const codeOf = (statements: readonly Statement[]): readonly number[] => statements.flatMap(({ code }) => code);

/** `if` without an `else`: for a condition that is not 0. */
export function when(condition: I32, then: readonly Statement[]): Statement {
  return { code: [...condition.code, 0x04, EMPTY, ...codeOf(then), END] };
}

/** A loop: the condition is looked at before each round. */
export function whileTrue(condition: I32, body: readonly Statement[]): Statement {
  // `br 1`: out of the condition's block, back to where the loop begins.
  const again: Statement = { code: [0x0c, 1] };
  return { code: [0x03, EMPTY, ...when(condition, [...body, again]).code, END] };
}

/** Ends the function with a value. */
export function returns(value: Expression<ValueType>): Statement {
  return { code: [...value.code, 0x0f] };
}
