import { describe, expect, it } from '@jest/globals';
import { webAssemblyEngine } from './engine.js';
import { i32, i64, i8x16, returns, v128, when, whileTrue } from './instructions.js';
import { FunctionBody } from './module.js';

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly work: (...operands: readonly number[]) => unknown;
}

function instantiate(bytes: Uint8Array): Exports {
  const engine = webAssemblyEngine();
  if (engine === null) throw new Error('this engine has no WebAssembly');
  const { exports } = new engine.Instance(new engine.Module(bytes));
  return exports as unknown as Exports; // the module exports exactly these two
}

/** Fills the memory, then calls the module's function. */
function run(bytes: Uint8Array, filling: Uint8Array, ...operands: readonly number[]): unknown {
  const { memory, work } = instantiate(bytes);
  new Uint8Array(memory.buffer).set(filling);
  return work(...operands);
}

const nothing = new Uint8Array();

describe('a WebAssembly module', () => {
  it('encodes small, large and negative numbers of 32 and 64 bits', () => {
    for (const number of [0, 1, -1, 63, 64, -64, -65, 127, 128, 8191, 8192, 0x7fffffff, -0x80000000]) {
      const f = new FunctionBody();
      expect(run(f.encodeModule('work', 1, [], i32.const(number)), nothing)).toBe(number);
    }
    for (const number of [0n, 64n, -65n, 1n << 62n, -(1n << 63n), 0xaaaa_aaaa_aaaa_aaaan]) {
      const f = new FunctionBody();
      expect(run(f.encodeModule('work', 1, [], i64.const(number)), nothing)).toBe(BigInt.asIntN(64, number));
    }
  });

  it('numbers parameters before variables, and repeats a loop while its condition holds', () => {
    const f = new FunctionBody();
    const from = f.parameter('i32');
    const to = f.parameter('i32');
    const sum = f.variable('i32');
    const body = [
      whileTrue(i32.ltS(from.value, to.value), [
        // A return from inside two blocks.
        when(i32.ltS(i32.const(1_000), sum.value), [returns(i32.const(-1))]),
        sum.set(i32.add(sum.value, from.value)),
        from.set(i32.add(from.value, i32.const(1))),
      ]),
    ];
    const bytes = f.encodeModule('work', 1, body, sum.value);
    expect([run(bytes, nothing, 3, 7), run(bytes, nothing, 7, 3), run(bytes, nothing, 0, 1_000)]).toEqual([18, 0, -1]);
  });

  it('encodes a function whose length needs several bytes', () => {
    const f = new FunctionBody();
    const sum = f.variable('i32');
    const add = Array.from({ length: 5_000 }, () => sum.set(i32.add(sum.value, i32.const(3))));
    expect(run(f.encodeModule('work', 1, add, sum.value), nothing)).toBe(15_000);
  });

  it('loads sixteen bytes from an address that is no multiple of sixteen', () => {
    const f = new FunctionBody();
    const at = f.parameter('i32');
    const bytes = f.encodeModule('work', 1, [], i8x16.bitmask(i8x16.eq(v128.load(at.value, 300), i8x16.splat(7))));
    const memory = new Uint8Array(400);
    memory[305] = memory[316] = 7;
    expect([run(bytes, memory, 0), run(bytes, memory, 1), run(bytes, memory, 5)]).toEqual([1 << 5, 0x8010, 0x0801]);
  });

  it('creates a memory of a fixed number of pages, which cannot grow', () => {
    const { memory } = instantiate(new FunctionBody().encodeModule('work', 2, [], i32.const(0)));
    expect(memory.buffer.byteLength).toBe(131_072);
    expect(() => memory.grow(1)).toThrow(RangeError);
  });
});
