/**
 * Encodes a WebAssembly module with one function and one memory.
 *
 * @see https://webassembly.github.io/spec/core/binary/modules.html
 */
import { Local, unsigned, type Expression, type Statement, type ValueType } from './instructions.js';

const types = { i32: 0x7f, i64: 0x7e, v128: 0x7b };

/** The function of a module under construction. Declare all parameters before the variables. */
export class FunctionBody {
  readonly #parameters: ValueType[] = [];
  readonly #variables: ValueType[] = [];

  /** Declares the next parameter. */
  parameter<T extends ValueType>(type: T): Local<T> {
    return new Local(type, this.#parameters.push(type) - 1);
  }

  /** Declares the next variable. */
  variable<T extends ValueType>(type: T): Local<T> {
    return new Local(type, this.#parameters.length + this.#variables.push(type) - 1);
  }

  /**
   * Encodes the module.
   * @param name under which the function is exported; the memory is exported as `memory`.
   * @param pages fixed size of the memory in pages of 65,536 bytes.
   */
  encodeModule(
    name: string,
    pages: number,
    statements: readonly Statement[],
    result: Expression<ValueType>,
  ): Uint8Array {
    const code = [...statements.flatMap((statement) => statement.code), ...result.code, 0x0b];
    const signature = [
      0x60,
      ...vector(this.#parameters.map((type) => [types[type]])),
      ...vector([[types[result.type]]]),
    ];
    const body = [...vector(this.#variables.map((type) => [1, types[type]])), ...code];
    return Uint8Array.from([
      ...[0x00, 0x61, 0x73, 0x6d], // \0asm
      ...[1, 0, 0, 0], // version
      // types
      ...section(1, [signature]),
      // functions
      ...section(3, [[0]]),
      // memories; the maximum size equals the initial size
      ...section(5, [[1, ...unsigned(pages), ...unsigned(pages)]]),
      // exports
      ...section(7, [
        [...text('memory'), 2, 0],
        [...text(name), 0, 0],
      ]),
      // code
      ...section(10, [[...unsigned(body.length), ...body]]),
    ]);
  }
}

function section(id: number, items: readonly (readonly number[])[]): readonly number[] {
  const content = vector(items);
  return [id, ...unsigned(content.length), ...content];
}

function vector(items: readonly (readonly number[])[]): readonly number[] {
  return [...unsigned(items.length), ...items.flat()];
}

function text(name: string): readonly number[] {
  const bytes = Buffer.from(name);
  return [...unsigned(bytes.length), ...bytes];
}
